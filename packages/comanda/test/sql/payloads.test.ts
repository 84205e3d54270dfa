import { expect, test } from 'vitest';
import { engine } from './kit/engine.js';
import { claim, decide, route } from './kit/steps.js';

test('M06: of each lane the head, and what is behind it as long as all fit into the bytes given', async () => {
  const s = await engine();
  const sized = (bytes: number) => ({ payload: 'x'.repeat(bytes - 2) });
  const a: number[] = [];
  for (const [i, bytes] of [300, 300, 600, 10].entries())
    a.push(...(await decide(s, `a${i}`, [{ orderingKey: 'a', ...sized(bytes) }])));
  const [big] = await decide(s, 'big', [sized(5_000)]);
  await route(s);
  const effects = (await claim(s, { batch: 10 })).map((c) => c.effect_id);
  const read = async (more: object) =>
    (await s.call<{ effect_id: number }>('payloads', { effects, ...more }))
      .map((row) => row.effect_id)
      .sort((x, y) => x - y);
  expect(await read({ laneBytes: 1_000 }), 'the third does not fit, and nothing goes past it').toEqual([
    a[0],
    a[1],
    big,
  ]);
  expect(await read({ laneBytes: 1_200 })).toEqual([a[0], a[1], a[2], big]);
  expect(await read({}), 'all, where no bytes are given').toEqual([...a, big]);
});
