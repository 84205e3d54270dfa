/**
 * Nothing that a stranger wrote may steer the terminal: control characters, changes of writing direction and invisible characters are shown as
 * escapes. Our own styles travel as noncharacters until the very last step, so that a whole line can be escaped without losing them.
 */
const HARMFUL =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const LONE_SURROGATE = /\p{Surrogate}/gu;
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\u001b': '\\e' };

const STYLES = { bold: '\ufdd1', dim: '\ufdd2', red: '\ufdd3', yellow: '\ufdd4', green: '\ufdd5' } as const;
const RESET = '\ufdd0';
const SGR: Readonly<Record<string, string>> = {
  [RESET]: '\u001b[0m',
  [STYLES.bold]: '\u001b[1m',
  [STYLES.dim]: '\u001b[2m',
  [STYLES.red]: '\u001b[31m',
  [STYLES.yellow]: '\u001b[33m',
  [STYLES.green]: '\u001b[32m',
};
const STYLE_MARKS = /[\ufdd0-\ufdd5]/g;

export type Style = keyof typeof STYLES;

/** Marks a text as styled; becomes escape codes, or nothing, in {@link toTerminal}. */
export function styled(text: string, ...styles: readonly Style[]): string {
  return text === '' ? '' : `${styles.map((style) => STYLES[style]).join('')}${text}${RESET}`;
}

/** A stranger's text, harmless and on one line. */
export function visible(text: string): string {
  return escaped(text).replace(STYLE_MARKS, escapeOf);
}

/** One finished line: everything harmful escaped, styles turned into escape codes or removed. */
export function toTerminal(line: string, color: boolean): string {
  return escaped(line).replace(STYLE_MARKS, (mark) => (color ? (SGR[mark] ?? '') : ''));
}

/** The line without the marks of styles. */
export function unstyled(line: string): string {
  return line.replace(STYLE_MARKS, '');
}

function escaped(text: string): string {
  return text.replace(LONE_SURROGATE, '\ufffd').replace(HARMFUL, escapeOf);
}

/** JSON text in which no character can steer a terminal. Still the same JSON: only texts can hold such characters. */
export function visibleJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent)
    .replace(HARMFUL, (character) => (character === '\n' ? character : character.replace(/[\s\S]/g, unicodeEscape)))
    .replace(STYLE_MARKS, unicodeEscape);
}

function escapeOf(character: string): string {
  return (
    NAMED[character] ?? (character > '\u00ff' ? character.replace(/[\s\S]/g, unicodeEscape) : `\\x${hex(character, 2)}`)
  );
}

function unicodeEscape(unit: string): string {
  return `\\u${hex(unit, 4)}`;
}

function hex(unit: string, digits: number): string {
  return unit.charCodeAt(0).toString(16).padStart(digits, '0');
}
