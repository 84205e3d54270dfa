import { describe, expect, it } from 'vitest';
import { Stop } from './stop.js';

describe('Stop', () => {
  it('tells listeners once, with the first reason', () => {
    const stop = new Stop();
    const heard: string[] = [];
    const listener = (reason: Error): void => void heard.push(reason.message);
    stop.add(listener);
    stop.stop(new Error('first'));
    stop.stop(new Error('second'));
    stop.add(listener);
    expect(heard).toEqual(['first', 'first']);
    expect(stop.reason?.message).toBe('first');
  });

  it('gives a signal that knows what happened before and after the first look', () => {
    const before = new Stop();
    before.stop(new Error('before'));
    expect(before.signal.aborted).toBe(true);
    const after = new Stop();
    const { signal } = after;
    expect(signal.aborted).toBe(false);
    after.stop(new Error('after'));
    expect(signal.reason).toMatchObject({ message: 'after' });
    expect(after.signal).toBe(signal);
  });

  it('does not call a listener that was removed', () => {
    const stop = new Stop();
    const listener = (): void => {
      throw new Error('called');
    };
    stop.add(listener);
    stop.remove(listener);
    stop.stop(new Error('x'));
  });
});
