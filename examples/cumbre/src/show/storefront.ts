import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../random.js';
import { createOrders, type Order } from '../shop/orders.js';

/** The web shop: it sends orders that come back to order-triage, as webhooks are sent: at least once. */
export interface Storefront {
  readonly orders: number;
  /** Requests sent, repetitions included. */
  readonly deliveries: number;
  /** Orders sent again after an answer, and orders sent more than once at the same moment. */
  readonly twice: number;
  readonly atOnce: number;
  /** Orders for which order-triage has said that they are done. */
  readonly acknowledged: ReadonlySet<string>;
  /** Resolves when every order was acknowledged. */
  readonly done: Promise<void>;
}

export interface StorefrontOptions {
  /** Where order-triage is now; `undefined` while it is down. */
  readonly url: () => string | undefined;
  readonly random: Random;
  readonly seconds: number;
  readonly ordersPerSecond: number;
  /** Ends the sending early. */
  readonly signal: AbortSignal;
  /** Called right after an order was sent. */
  readonly onSent: () => void;
}

const TWICE = 0.12;
const AT_ONCE = 0.12;
const AGAIN_MS = 150;

/** Opens the shop: orders come in at random moments for some seconds. */
export function openStorefront(options: StorefrontOptions): Storefront {
  const { random, seconds, ordersPerSecond, signal } = options;
  const nextOrder = createOrders(random);
  const acknowledged = new Set<string>();
  const counts = { orders: 0, deliveries: 0, twice: 0, atOnce: 0 };

  const deliver = async (order: Order): Promise<void> => {
    while (!signal.aborted) {
      const url = options.url();
      if (url !== undefined && (await send(url, order))) return;
      await delay(AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  };

  const send = async (url: string, order: Order): Promise<boolean> => {
    counts.deliveries += 1;
    try {
      const sent = fetch(`${url}/orders`, { method: 'POST', body: JSON.stringify(order), signal });
      options.onSent();
      const answer = await sent;
      await answer.text();
      if (answer.ok) acknowledged.add(order.id);
      return answer.ok;
    } catch {
      return false; // order-triage was killed. Nobody knows what it had done, so the order is sent again.
    }
  };

  const sendOne = async (order: Order, fate: number): Promise<void> => {
    if (fate < AT_ONCE) {
      counts.atOnce += 1;
      await Promise.all([deliver(order), deliver(order), ...(fate < AT_ONCE / 3 ? [deliver(order)] : [])]);
      return;
    }
    await deliver(order);
    if (fate > 1 - TWICE) {
      counts.twice += 1;
      await deliver(order);
    }
  };

  const open = async (): Promise<void> => {
    const closesAt = performance.now() + seconds * 1_000;
    const sent: Promise<void>[] = [];
    while (performance.now() < closesAt && !signal.aborted) {
      counts.orders += 1;
      sent.push(sendOne(nextOrder(), random()));
      await delay((2 * random() * 1_000) / ordersPerSecond);
    }
    await Promise.all(sent);
  };

  const done = open();
  return {
    get orders() {
      return counts.orders;
    },
    get deliveries() {
      return counts.deliveries;
    },
    get twice() {
      return counts.twice;
    },
    get atOnce() {
      return counts.atOnce;
    },
    acknowledged,
    done,
  };
}
