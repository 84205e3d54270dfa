/** One message of PostgreSQL's protocol 3.0: its type, and its body without type and length. */
export interface Message {
  readonly type: string;
  readonly body: Buffer;
  /** With type and length, as it travels. */
  readonly bytes: Buffer;
}

/** Cuts a stream into messages; what is not whole yet waits for more. */
export function createCutter(): (chunk: Buffer) => readonly Message[] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const messages: Message[] = [];
    while (rest.length >= 5 && rest.length >= 1 + rest.readInt32BE(1)) {
      const end = 1 + rest.readInt32BE(1);
      const bytes = rest.subarray(0, end);
      messages.push({ type: String.fromCharCode(bytes[0] ?? 0), body: bytes.subarray(5), bytes });
      rest = rest.subarray(end);
    }
    return messages;
  };
}

/** SQL text and parameters of what a client sends up to its next Sync. */
export function statementOf(messages: readonly Message[]): {
  readonly sql: string;
  readonly params: readonly string[];
} {
  const simple = messages.find(({ type }) => type === 'Q');
  if (simple !== undefined) return { sql: text(simple.body, 0), params: [] };
  const parse = messages.find(({ type }) => type === 'P');
  const bind = messages.find(({ type }) => type === 'B');
  const sql = parse === undefined ? '' : text(parse.body, parse.body.indexOf(0) + 1);
  return { sql, params: bind === undefined ? [] : paramsOf(bind.body) };
}

function paramsOf(body: Buffer): readonly string[] {
  let at = body.indexOf(0) + 1;
  at = body.indexOf(0, at) + 1;
  at += 2 + 2 * body.readInt16BE(at);
  const params: string[] = [];
  const count = body.readInt16BE(at);
  at += 2;
  for (let i = 0; i < count; i += 1) {
    const length = body.readInt32BE(at);
    at += 4;
    params.push(length < 0 ? '' : body.toString('utf8', at, at + length));
    at += Math.max(0, length);
  }
  return params;
}

/** Rows as text, or the SQLSTATE: as much as tells one answer from another. Empty when there was no row. */
export function answerOf(messages: readonly Message[]): string {
  return messages
    .flatMap(({ type, body }) => {
      if (type === 'D') return [fields(body)];
      if (type === 'E') return [`error ${/C([0-9A-Z]{5})\0/.exec(body.toString('latin1'))?.[1] ?? ''}`];
      return [];
    })
    .join('\n');
}

function fields(body: Buffer): string {
  const values: string[] = [];
  let at = 2;
  for (let i = 0; i < body.readInt16BE(0); i += 1) {
    const length = body.readInt32BE(at);
    at += 4;
    values.push(length < 0 ? '-' : body.toString('utf8', at, at + length));
    at += Math.max(0, length);
  }
  return values.join('|');
}

function text(body: Buffer, from: number): string {
  return body.toString('utf8', from, body.indexOf(0, from));
}
