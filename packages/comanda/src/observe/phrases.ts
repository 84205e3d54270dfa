const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** A length of time as people read it, in two units at most: `3m 20s`, `2d 4h`, `12s`, `0s`. */
export function age(ms: number): string {
  const whole = Math.max(0, Math.floor(ms / 1_000)) * 1_000;
  const at = UNITS.findIndex(([, size]) => whole >= size);
  const unit = UNITS[at];
  if (unit === undefined) return '0s';
  const [name, size] = unit;
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((whole % size) / next[1]);
  return `${Math.floor(whole / size)}${name}${next === undefined || rest === 0 ? '' : ` ${rest}${next[0]}`}`;
}

/** How long an attempt took: `120ms`, `1.4s`, then as {@link age}. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)}s` : age(ms);
}

/** `in 20s`, or `now` when the moment has come. */
export function ahead(ms: number): string {
  return ms < 1_000 ? 'now' : `in ${age(ms)}`;
}

/** An ISO 8601 moment for people: `2026-01-31 09:30:00 UTC`. */
export function moment(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** A text of somebody else in quotation marks, on one line, cut. */
export function quoted(text: string, max = 300): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return `"${line.length > max ? `${line.slice(0, max)}…` : line}"`;
}

/** A sentence that ends in a quoted text: no second full stop after one that is quoted. */
export function sentence(text: string): string {
  return /[.!?…]"?$/.test(text) ? text : `${text}.`;
}

/** `1 effect`, `2 effects`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

/** A word of a shell command: quoted when it must be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** `relay-198331ab` for the identifier of a relay, which is much longer; other names as they are. */
export function shortRelay(id: string): string {
  return /^relay-[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id) ? id.slice(0, 14) : id;
}
