import type { Stage } from '../stage/stage.js';
import { hasArrived, type Path } from './path.js';

/** Turns the switch; answers the version that relays have to obey. */
async function turn(stage: Stage, scope: string, mode: 'run' | 'stop' | 'hold'): Promise<string> {
  const [row] = await stage.query<{ version: string }>(
    'select version::text from comanda.switch_set($1::text::jsonb)',
    { scope, mode, by: 'ana@cumbre.example', reason: 'drill' },
  );
  return row?.version ?? '';
}

const isObeyed = (stage: Stage, version: string) => async (): Promise<boolean> =>
  (await stage.query(`select from comanda.relay where switch_version >= ${version}`)).length > 0;

const isParked = (stage: Stage, ref: string) => async (): Promise<boolean> =>
  (await stage.effect(ref))?.parked?.startsWith('switch:') === true;

/** A relay that has no work. What it repeats is learned from this path. */
export const IDLE = 'start, and nothing to do';

/** The switch, and the end of a relay. */
export const CONTROL: readonly Path[] = [
  {
    name: IDLE,
    victim: 'relay',
    kinds: ['keyed'],
    // Long enough for each periodic act to come more than once.
    async play(stage) {
      const beats = new Set<string>();
      await stage.until('four heartbeats', async () => {
        for (const { at } of await stage.query<{ at: string }>('select beat_at::text as at from comanda.relay'))
          beats.add(at);
        return beats.size > 4;
      });
    },
    ends: {},
  },
  {
    name: 'switched off and on',
    victim: 'relay',
    async play(stage) {
      await turn(stage, `target:${stage.kind}`, 'stop');
      await stage.decide('order', { ref: 'a', lane: true }, { ref: 'b', lane: true });
      await stage.until('the lane to be parked', isParked(stage, 'a'));
      if ((await stage.book()).length > 0) throw new Error('something was sent while the switch was off');
      await turn(stage, `target:${stage.kind}`, 'run');
    },
    ends: { a: ['completed'], b: ['completed'] },
    order: ['a', 'b'],
  },
  {
    name: 'switched off in flight',
    victim: 'relay',
    async play(stage) {
      await stage.decide('order', { ref: 'flies', lane: true, behave: ['slow'] }, { ref: 'stays', lane: true });
      await stage.until('the first to arrive', () => hasArrived(stage, 'flies'));
      const version = await turn(stage, `kind:${stage.kind}`, 'hold');
      await stage.until('a relay to obey', isObeyed(stage, version));
      await turn(stage, `kind:${stage.kind}`, 'run');
    },
    ends: { flies: ['completed'], stays: ['completed'] },
    order: ['flies', 'stays'],
  },
  {
    name: 'shutdown',
    victim: 'relay',
    stops: true,
    async play(stage) {
      await stage.decide('order', { ref: 'flies', lane: true, behave: ['slow'] }, { ref: 'stays', lane: true });
      await stage.until('the first to arrive', () => hasArrived(stage, 'flies'));
      await stage.stopRelays();
    },
    ends: { flies: ['completed'], stays: ['completed'] },
    order: ['flies', 'stays'],
  },
];
