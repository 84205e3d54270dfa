/** How the demo's texts look on one kind of output. */
export interface Style {
  readonly colour: boolean;
  /** Whether lines, dots and bars may be drawn. */
  readonly unicode: boolean;
  strong(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
}

/** Colours only on a terminal, and never with NO_COLOR; line drawing unless the locale says that it cannot be shown. */
export function styleFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Style {
  const colour = stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || 'UTF-8';
  const paint = (code: number) => (text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);
  return {
    colour,
    unicode: /utf-?8/i.test(locale),
    strong: paint(1),
    dim: paint(2),
    good: paint(32),
    bad: paint(31),
    warn: paint(33),
  };
}

/** `1 234`: groups of three, with a space that does not break. */
export function number(n: number): string {
  return String(Math.round(n)).replaceAll(/\B(?=(\d{3})+$)/g, '\u00a0');
}

/** `0.4 s`, `12 s` */
export function seconds(ms: number): string {
  return ms < 9_950 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
}

/** `1 order`, `2 orders` */
export function plural(n: number, noun: string): string {
  return `${number(n)} ${noun}${n === 1 ? '' : 's'}`;
}

/** Cuts a line with colours to a number of visible columns. */
export function fit(line: string, columns: number): string {
  let left = columns;
  let out = '';
  for (const part of line.split(/(\u001b\[\d+m)/)) {
    if (part.startsWith('\u001b')) out += part;
    else {
      const kept = [...part].slice(0, left);
      left -= kept.length;
      out += kept.join('');
    }
  }
  return out;
}

/** Breaks a text without colours into lines. */
export function wrap(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
