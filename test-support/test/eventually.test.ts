import { eventually, withDeadline } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';

const never = new Promise<never>(() => {});

describe('eventually', () => {
  it('returns the first truthy value, past throws and falsy ones', async () => {
    const answers = [
      () => {
        throw new Error('not yet');
      },
      () => undefined,
      () => ({ n: 3 }),
    ];
    expect(await eventually(() => answers.shift()?.(), { everyMs: 1 })).toEqual({ n: 3 });
  });

  it('fails with what was waited for and what was seen last', async () => {
    await expect(eventually(() => 0, { withinMs: 10, everyMs: 1, what: 'the balance' })).rejects.toThrow(
      'eventually: the balance did not happen within 10 ms; last seen: 0',
    );
    const failing = () => {
      throw new Error('no such row');
    };
    await expect(eventually(failing, { withinMs: 10, everyMs: 1 })).rejects.toThrow(
      'the last look failed: no such row',
    );
  });

  it('does not hang with a look that hangs', async () => {
    await expect(eventually(() => never, { withinMs: 5, what: 'it' })).rejects.toThrow('a look at it took longer');
  });
});

describe('withDeadline', () => {
  it('passes values and errors on', async () => {
    expect(await withDeadline(Promise.resolve(7), 1000, 'it')).toBe(7);
    await expect(withDeadline(Promise.reject(new Error('broken')), 1000, 'it')).rejects.toThrow('broken');
  });

  it('fails when time is over', async () => {
    await expect(withDeadline(never, 5, 'the answer')).rejects.toThrow('the answer took longer than 5 ms');
  });
});
