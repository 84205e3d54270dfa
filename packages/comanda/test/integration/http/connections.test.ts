import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterThisTest, eventually } from '@comanda/test-support';
import { expect, it } from 'vitest';
import { httpEffect } from '../../../src/transports/http/index.js';
import { asRelay, attempt, loopback, provider } from './hostile-server.js';

it('a connection that has ended is freed, also while its transport lives on', async () => {
  const made: WeakRef<Socket>[] = [];
  const onConnected = (message: unknown): void => void made.push(new WeakRef((message as { socket: Socket }).socket));
  subscribe('undici:client:connected', onConnected);
  afterThisTest(() => void unsubscribe('undici:client:connected', onConnected));
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;

  const target = await provider((response) => response.end());
  const effect = asRelay(
    httpEffect({
      kind: 'mail',
      risk: 'irreversible',
      idempotency: 'none', // a connection of its own for each request
      onUnknown: 'ask-human',
      request: { url: target.url },
      transport: loopback(),
    }),
  );
  for (let n = 0; n < 40; n += 1) expect(await effect.perform({}, attempt())).toMatchObject({ outcome: 'completed' });
  expect(made).toHaveLength(40);
  // One that is kept costs about 20 KB for as long as the relay lives.
  const kept = (): number => {
    collect();
    return made.filter((socket) => socket.deref() !== undefined).length;
  };
  await eventually(() => kept() < 5, { what: 'the connections to be freed', everyMs: 100 });
});
