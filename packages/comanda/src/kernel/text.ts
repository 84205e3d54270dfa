// C0 without tab, line feed and carriage return, DEL, C1; lone surrogates are replaced, they have no UTF-8 form.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const LONE_SURROGATES = /\p{Surrogate}/gu;

/** Removes control characters (PostgreSQL cannot store U+0000, terminals obey the others) and replaces lone surrogates by U+FFFD. */
export function stripControls(text: string): string {
  return text.replace(CONTROLS, '').replace(LONE_SURROGATES, '\ufffd');
}

const MARK = '…';
const MARK_BYTES = 3;

/** Cuts to at most `maxBytes` of UTF-8, mark included, never inside a character. Shorter texts come back as they are. */
export function cutToBytes(text: string, maxBytes: number): string {
  // One UTF-16 unit is at most three bytes of UTF-8.
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const room = new Uint8Array(Math.max(maxBytes - MARK_BYTES, 0));
  const { read } = new TextEncoder().encodeInto(text, room);
  return maxBytes < MARK_BYTES ? '' : text.slice(0, read) + MARK;
}
