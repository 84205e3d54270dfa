import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readBook } from './books.js';
import type { Happened } from './demo.js';
import { type EffectLine, readEvidence } from './evidence.js';
import { imbalances, type Reckoning, reckon } from './reckoning.js';
import type { Stage } from './stage.js';

/** The verdict on one run. */
export interface Result extends Reckoning {
  readonly seed: number;
  readonly deliveries: number;
  /** Processes killed, relays and order-triage. */
  readonly kills: number;
  readonly unattended: number;
  /** Processes that ended without having been killed. */
  readonly crashes: number;
  readonly balanced: boolean;
  /** What does not balance, in words, and the first effects that did not end well. */
  readonly problems: readonly string[];
}

/** Counts the books against the database, and leaves everything that was counted in the folder, so that anybody can count again. */
export async function settleUp(stage: Stage, happened: Happened, folder: string, seed: number): Promise<Result> {
  const books = Object.fromEntries(stage.providers.map(({ target, book }) => [target, readBook(book)]));
  const { effects, orders } = await readEvidence(stage.pool);
  const { acknowledged, kills, shop, unattended } = happened;
  const reckoning = reckon({ books, effects, orders, acknowledged });
  const crashes = stage.crashes.length;
  const problems = [
    ...imbalances({ ...reckoning, unattended, crashes }),
    ...effects.flatMap(unended).slice(0, 5),
    ...stage.crashes,
  ];
  const killed = kills.flatMap(({ victims }) => victims).length;
  const result: Result = {
    seed,
    deliveries: shop.deliveries,
    kills: killed,
    ...reckoning,
    unattended,
    crashes,
    balanced: problems.length === 0,
    problems,
  };
  writeLines(join(folder, 'decisions.jsonl'), effects);
  writeLines(join(folder, 'orders.jsonl'), orders);
  writeLines(join(folder, 'acknowledged.jsonl'), acknowledged);
  writeLines(join(folder, 'kills.jsonl'), kills);
  writeFileSync(join(folder, 'reckoning.json'), `${JSON.stringify(result)}\n`);
  return result;
}

function unended({ key, state, reason }: EffectLine): readonly string[] {
  return state === 'completed' ? [] : [`${key} is ${state}${reason === null ? '' : `: ${reason}`}`];
}

function writeLines(file: string, values: readonly unknown[]): void {
  writeFileSync(file, values.map((value) => `${JSON.stringify(value)}\n`).join(''));
}
