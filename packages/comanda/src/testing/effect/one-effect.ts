import type { ClaimedRow, EndedRecord, PayloadRow, SendItem } from '../../outbox/engine.js';
import type { EffectKind } from '../../ports/effect-kind.js';
import type { Settlement } from '../../relay/settler.js';

/** What an effect says, and when a relay may look at it. */
export interface EffectFacts {
  readonly idempotencyKey: string;
  readonly payloadText: string;
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** How an effect stands when nothing more will be done about it. */
export type Standing =
  | { readonly state: 'completed' | 'failed' | 'cancelled'; readonly reason: string }
  | { readonly state: 'unknown'; readonly reason: string };

/**
 * What a database would remember of ONE effect between its attempts, so that the rules of the relay can be applied to a handler without one. It follows the SQL
 * functions claim, payloads, may_send, settle and late_evidence for a lane with one effect, nobody else and nothing switched off; it is no engine, and a test
 * compares what it leads to with the engine.
 */
export interface OneEffect {
  /** When it is due next; `undefined` when it has come to an end. */
  readonly dueAt: number | undefined;
  readonly standing: Standing | undefined;
  readonly attempts: number;
  claim(now: number): { readonly row: ClaimedRow; readonly payload: PayloadRow };
  maySend(item: SendItem, now: number): string;
  renew(fence: string, now: number): void;
  /** Its holder loses the lease before its time. */
  forfeit(now: number): void;
  /** Returns whether the caller still held it. */
  settle(fence: string, settlement: Settlement, now: number): boolean;
  end(fence: string, record: EndedRecord): boolean;
  late(record: { readonly outcome?: string; readonly providerId?: string }): void;
}

interface State {
  attempt: number;
  fence: number;
  owner: boolean;
  readyAt: number;
  firstAt: number | undefined;
  suspect: boolean;
  cleared: boolean;
  lost: number;
  looks: number;
  trouble: 'unknown' | 'failed' | null;
  started: { readonly fence: string; readonly at: number } | undefined;
  evidence: { readonly providerId: string | null } | undefined;
  standing: Standing | undefined;
}

export function rememberEffect(kind: EffectKind, facts: EffectFacts, leaseMs: number, now: number): OneEffect {
  const s: State = {
    attempt: 0,
    fence: 0,
    owner: false,
    readyAt: now,
    firstAt: undefined,
    suspect: false,
    cleared: false,
    lost: 0,
    looks: 0,
    trouble: null,
    started: undefined,
    evidence: undefined,
    standing: undefined,
  };
  const born = now;
  const holds = (fence: string): boolean => s.owner && String(s.fence) === fence;
  const take = (): void => {
    s.suspect = true;
    s.cleared = false;
    s.lost = s.trouble === 'unknown' ? s.lost + 1 : Math.max(s.lost, 1);
    if (s.trouble === null) s.looks = 0;
  };
  const end = (fence: string, record: EndedRecord): boolean => {
    if (!holds(fence)) return false;
    s.owner = false;
    s.standing = { state: record.state, reason: record.reason ?? record.errorText ?? record.state };
    return true;
  };
  return {
    get dueAt() {
      return s.standing === undefined ? s.readyAt : undefined;
    },
    get standing() {
      return s.standing;
    },
    get attempts() {
      return s.attempt;
    },
    claim(at) {
      if (s.owner) take();
      if (s.trouble !== 'unknown') s.attempt += 1;
      s.owner = true;
      s.fence += 1;
      s.readyAt = at + leaseMs;
      s.firstAt ??= at;
      return { row: rowOf(kind, s), payload: payloadOf(kind, facts, s, at) };
    },
    maySend(item, at) {
      if (!holds(item.fence)) return 'lost';
      if (s.readyAt <= at + item.needMs) return 'short';
      const forgotten = item.windowMs !== undefined && (s.firstAt ?? at) + item.windowMs <= at;
      if ((item.mark || forgotten) && s.evidence !== undefined) return 'applied';
      if (forgotten && item.suspect) return 'forgotten';
      if (item.maxAgeMs !== undefined && !item.suspect && born + item.maxAgeMs <= at) return 'expired';
      if (item.mark || forgotten) s.started = { fence: item.fence, at };
      if (item.lost > 0) s.lost += 1;
      return forgotten ? 'go:none' : 'go';
    },
    renew(fence, at) {
      if (holds(fence)) s.readyAt = at + leaseMs;
    },
    forfeit(at) {
      take();
      s.owner = false;
      s.fence += 1;
      s.readyAt = at;
    },
    settle(fence, settlement, at) {
      if (!holds(fence)) return false;
      settleHead(s, fence, settlement, at);
      return true;
    },
    end,
    late(record) {
      if (record.outcome === 'completed' && s.standing === undefined)
        s.evidence ??= { providerId: record.providerId ?? null };
    },
  };
}

function settleHead(s: State, fence: string, settlement: Settlement, now: number): void {
  const { mode, head, giveBack = false } = settlement;
  s.owner = false;
  if (mode === 'absent' && s.evidence !== undefined) {
    s.standing = { state: 'completed', reason: 'late evidence' };
    return;
  }
  const uncertain = mode === 'unsure' || mode === 'unknown' || (mode === 'block' && settlement.trouble === 'unknown');
  const again = mode === 'retry' || mode === 'unsure';
  // An attempt that certainly did nothing, and attempts before a believed `absent`, are resolved.
  if (mode === 'absent' || (head?.outcome === 'retry' && s.started?.fence === fence)) s.started = undefined;
  s.readyAt = mode === 'next' || mode === 'absent' ? now : now + (settlement.delayMs ?? 0);
  s.attempt = Math.max(s.attempt - Number(giveBack), 0);
  s.lost =
    (giveBack && head === undefined && mode === 'retry') || settlement.keepLost === true
      ? Math.min(s.lost, settlement.lost ?? s.lost)
      : 0;
  const keepsLooks = mode === 'unknown' || mode === 'block' || (again && s.trouble !== null);
  s.looks = Number(settlement.looked === true) + (keepsLooks ? s.looks : 0);
  if (mode === 'unknown') s.trouble = 'unknown';
  else if (mode !== 'block' && !(again && s.suspect)) s.trouble = null;
  s.suspect ||= uncertain;
  s.cleared = mode === 'absent' || (s.cleared && !uncertain);
  if (mode === 'block') {
    const reason = settlement.reason ?? 'blocked';
    s.standing = { state: settlement.headFailed === true ? 'failed' : 'unknown', reason };
  }
}

function rowOf({ kind, target }: EffectKind, s: State): ClaimedRow {
  const { attempt, lost, looks, trouble } = s;
  return {
    lane: 'u:1',
    fence: String(s.fence),
    pos: '1',
    effect_id: '1',
    kind,
    target,
    attempt,
    suspect: s.suspect && !s.cleared,
    cancel: false,
    lost,
    looks,
    trouble,
    routed: 0,
  };
}

function payloadOf(kind: EffectKind, facts: EffectFacts, s: State, now: number): PayloadRow {
  const { idempotencyKey, payloadText, subject, headers } = facts;
  return {
    effect_id: '1',
    payload: payloadText,
    idempotency_key: idempotencyKey,
    run_key: idempotencyKey.split('/')[0] ?? idempotencyKey,
    subject,
    name: kind.kind,
    kind_version: kind.version,
    headers: JSON.stringify(headers),
    subject_version: null,
    started_ms_ago: s.started === undefined ? null : String(Math.round(now - s.started.at)),
    evidence: s.evidence === undefined ? null : 'completed',
    evidence_provider_id: s.evidence?.providerId ?? null,
  };
}
