import { appendFileSync } from 'node:fs';
import { type ProviderHandle, readBook, startGateway, startMail } from '@comanda/test-support/providers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let gateway: ProviderHandle;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(async () => {
  await gateway.stop();
});

let keys = 0;
function newKey(): string {
  keys += 1;
  return `key-${keys}`;
}

async function post(key: string | null, body = '{"amount": 10}', headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.url}/refunds`, {
    method: 'POST',
    headers: { ...(key === null ? {} : { 'Idempotency-Key': key }), ...headers },
    body,
  });
  const replayed = response.headers.get('idempotent-replayed') === 'true';
  return { status: response.status, replayed, headers: response.headers, body: await response.json() };
}

const story = (key: string) =>
  gateway
    .entries()
    .filter((entry) => entry.key === key)
    .map(({ event, reason }) => (reason ? `${event}:${reason}` : event));

describe('the gateway', () => {
  it('accepts once per key, replays the answer, refuses another body', async () => {
    const key = newKey();
    const first = await post(key);
    const again = await post(key);
    expect(first).toMatchObject({ status: 200, replayed: false });
    expect(again).toMatchObject({ status: 200, replayed: true, body: first.body });
    expect(await post(key, '{"amount":10}')).toMatchObject({ status: 422 });
    expect(story(key)).toEqual(['received', 'accepted', 'received', 'replayed', 'received', 'refused']);
  });

  it('keeps the body as received, with lane and fence', async () => {
    const key = newKey();
    const body = '{ "amount": 1.00, "n": 12345678901234567890 }';
    await post(key, body, { 'Comanda-Lane': 'order:1', 'Comanda-Fence': '7' });
    expect(gateway.entries('accepted').at(-1)).toMatchObject({
      key,
      body,
      lane: 'order:1',
      fence: '7',
      path: '/refunds',
    });
  });

  it('accepts every time without a key', async () => {
    const [a, b] = [await post(null), await post(null)];
    expect(a.body).not.toEqual(b.body);
  });

  it('answers a look-up', async () => {
    const key = newKey();
    const look = async () => (await fetch(`${gateway.url}/refunds?key=${key}`)).status;
    expect(await look()).toBe(404);
    await post(key);
    expect(await look()).toBe(200);
  });

  it('says 409 while the first request with a key runs, and accepts it once', async () => {
    const key = newKey();
    await gateway.control({ script: ['slow'], slowMs: 150 });
    const first = post(key);
    const during = await untilInProgress(key);
    expect(during).toBe(409);
    expect((await first).status).toBe(200);
    expect(gateway.entries('accepted').filter((entry) => entry.key === key)).toHaveLength(1);
  });

  it.each([
    ['error500', 500],
    ['tooMany', 429],
    ['conflict', 409],
    ['refuse', 503],
  ] as const)('can answer %s before anything happened', async (fault, status) => {
    const key = newKey();
    await gateway.control({ script: [fault], retryAfterS: 3 });
    const answer = await post(key);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('retry-after')).toBe(fault === 'tooMany' ? '3' : null);
    expect(story(key)).toEqual(['received', `rejected:${fault}`]);
    expect(await post(key)).toMatchObject({ status: 200, replayed: false });
  });

  it('can break the connection before acceptance, and after it', async () => {
    const [lost, done] = [newKey(), newKey()];
    await gateway.control({ script: ['dropBefore', 'acceptDrop'] });
    await expect(post(lost)).rejects.toThrow('fetch failed');
    await expect(post(done)).rejects.toThrow('fetch failed');
    expect(await post(lost)).toMatchObject({ replayed: false });
    expect(await post(done)).toMatchObject({ replayed: true });
  });

  it('can hang and refuse for a time, look-ups included', async () => {
    await gateway.control({ mode: 'refuse', refuseStatus: 401 });
    expect(await post(newKey())).toMatchObject({ status: 401 });
    expect((await fetch(`${gateway.url}/refunds?key=x`)).status).toBe(401);
    await gateway.control({ mode: 'hang', refuseStatus: 503 });
    const signal = AbortSignal.timeout(50);
    await expect(fetch(`${gateway.url}/refunds?key=x`, { signal })).rejects.toThrow('timeout');
    await gateway.control({ mode: 'hang', forMs: 0 });
    expect(await post(newKey())).toMatchObject({ status: 200 });
  });

  it('draws the same faults from the same seed', async () => {
    const run = async () => {
      await gateway.control({ seed: 42, rates: { error500: 0.3, conflict: 0.2 } });
      const statuses: number[] = [];
      for (let i = 0; i < 20; i++) statuses.push((await post(newKey())).status);
      return statuses;
    };
    const first = await run();
    expect(await run()).toEqual(first);
    expect(new Set(first)).toEqual(new Set([200, 500, 409]));
    await gateway.control({ rates: {} });
  });

  it('refuses settings that it does not know', async () => {
    await expect(gateway.control({ rates: { error500: 0.7, slow: 0.7 } })).rejects.toThrow('rates are 0 to 1 in all');
    await expect(gateway.control({ script: ['explode' as 'hang'] })).rejects.toThrow('unknown fault \\"explode\\"');
  });

  it('remembers its book after kill -9, a line that was cut off included', async () => {
    const before = await startGateway();
    const send = (key: string) =>
      fetch(`${before.url}/refunds`, { method: 'POST', headers: { 'Idempotency-Key': key }, body: '{}' });
    await send('k');
    await before.kill();
    appendFileSync(before.book, '{"n":99,"eve');
    const after = await startGateway({ port: before.port, book: before.book });
    expect((await send('k')).headers.get('idempotent-replayed')).toBe('true');
    expect(after.entries().map(({ n, event }) => `${n} ${event}`)).toEqual([
      '1 received',
      '2 accepted',
      '3 received',
      '4 replayed',
    ]);
    expect(readBook(after.book)).toHaveLength(4);
  });

  it('with fencing, refuses a fence lower than one it has seen, from a look-up too', async () => {
    const fenced = await startGateway({ fencing: true, laneHeader: 'X-Lane', fenceHeader: 'X-Fence' });
    const lane = (fence: number) => ({ 'X-Lane': 'order:1', 'X-Fence': String(fence) });
    const send = async (fence: number) =>
      (await fetch(`${fenced.url}/refunds`, { method: 'POST', headers: lane(fence), body: '{}' })).status;
    expect(await send(5)).toBe(200);
    expect((await fetch(`${fenced.url}/refunds?key=k`, { headers: lane(6) })).status).toBe(404);
    expect(await send(5)).toBe(412);
    expect(await send(6)).toBe(200);
  });

  it('counts', async () => {
    const { received, accepted, replayed, refused, rejected, in_progress } = await gateway.stats();
    expect(gateway.entries()).toHaveLength(received + accepted + replayed + refused + rejected + in_progress);
  });
});

// The first request is known to run when the book has it.
async function untilInProgress(key: string): Promise<number> {
  for (;;) {
    if (story(key).includes('received')) return (await post(key)).status;
    await new Promise((resolve) => void setImmediate(resolve));
  }
}

describe('the mail service', () => {
  it('sends once more for each request, whatever its key, and finds mails by reference', async () => {
    const mail = await startMail();
    const send = (body: string) =>
      fetch(`${mail.url}/messages`, { method: 'POST', headers: { 'Idempotency-Key': 'same' }, body });
    const look = async () => (await fetch(`${mail.url}/messages?reference=R-1`)).json() as Promise<unknown>;
    const message = JSON.stringify({ to: 'ana@example.com', reference: 'R-1' });
    expect(await look()).toEqual({ found: false, reference: 'R-1' });
    await send(message);
    await mail.control({ script: ['acceptDrop'] });
    await expect(send(message)).rejects.toThrow('fetch failed');
    expect(await look()).toEqual({ found: true, reference: 'R-1', messages: [{ id: 'msg_1' }, { id: 'msg_2' }] });
    expect((await send('not JSON')).status).toBe(400);
    expect(mail.entries('accepted')).toHaveLength(2);
  });
});
