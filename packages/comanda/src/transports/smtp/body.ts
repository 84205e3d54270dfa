import { Readable } from 'node:stream';

const CHUNK_BYTES = 16 * 1_024;

/** Asked before the first and after the last byte; `false` ends the body there, without its end. */
export interface BodyGates {
  readonly begin: () => boolean;
  readonly end: () => boolean;
}

/**
 * The bytes of a message as a stream that knows how far it has been taken. nodemailer takes it once the server has answered
 * DATA, and writes the line with the dot, which makes a message of the bytes, after the stream's end. So a stream that never
 * ended is a message that nobody can have accepted.
 */
export function bodyOf(bytes: Buffer, gates: BodyGates): Readable {
  let at = 0;
  return new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      const open = at === 0 ? gates.begin() : at < bytes.length || gates.end();
      if (!open) {
        this.destroy();
        return;
      }
      this.push(at < bytes.length ? bytes.subarray(at, at + CHUNK_BYTES) : null);
      at += CHUNK_BYTES;
    },
  });
}
