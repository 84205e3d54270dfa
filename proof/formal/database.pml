/* The relay's SQL functions; each statement is one atomic step. Names are those of packages/comanda/sql/functions. */

/* ---- place(): the position is drawn at COMMIT, under the lane's advisory lock ---- */
proctype decider(byte mine, last) {
  byte p;
  do
  :: mine != NO ->
#ifdef M_NO_COMMIT_LOCK
     atomic { positions++; p = positions }
#else
     atomic { LANE(mine) == 1 || lane_lock == 0 ->
       if
       :: LANE(mine) == 0 -> lane_lock = 1
       :: else
       fi;
       positions++; p = positions }
#endif
     atomic {
       printf("a decision commits effect %d\n", mine);
       pos[mine] = p; p = 0;
       if
       :: LANE(mine) == 0 -> place[mine] = ARRIVED; commits++; born[mine] = commits; lane_lock = 0
       :: else -> place[mine] = WAITING
       fi;
       if
       :: mine == last -> mine = NO; break
       :: else -> mine = last
       fi }
  od }

/* ---- route: one at a time; locks the lane, then moves what its own DELETE returned ---- */
#if LANE_EFFECTS > 2
#define ARRIVALS0 (place[0] == ARRIVED || place[1] == ARRIVED || place[2] == ARRIVED)
#else
#define ARRIVALS0 (place[0] == ARRIVED || place[1] == ARRIVED)
#endif
#if LOOSE_EFFECTS > 0
#define ARRIVALS1 (place[LANE_EFFECTS] == ARRIVED)
#else
#define ARRIVALS1 0
#endif
#ifdef M_TWO_ROUTERS
#define ROUTER_FREE 1
#else
#define ROUTER_FREE (router_lock == 0)
#endif

proctype router() {
  byte l, h, i, seen; bit had, any;
end:
  do
  :: atomic { ROUTER_FREE && ((ARRIVALS0 && !rowlock[0]) || (ARRIVALS1 && !rowlock[1])) ->
       router_lock = 1;
       if
       :: ARRIVALS0 && !rowlock[0] -> l = 0
       :: ARRIVALS1 && !rowlock[1] -> l = 1
       fi;
       had = (state[l] != NOLANE);
       rowlock[l] = had;
       do
       :: i < EFFECTS ->
          if
          :: place[i] == ARRIVED && LANE(i) == l -> seen = seen | (1 << i)
          :: else
          fi; i++
       :: else -> break
       od; i = 0 }
     atomic {
       do
       :: i < EFFECTS ->
          if
#ifdef M_NO_ROUTE_BELT
          /* queues what it saw; only the primary key of the queue protects */
          :: ((seen >> i) & 1) && place[i] != QUEUED ->
#else
          :: ((seen >> i) & 1) && place[i] == ARRIVED ->
#endif
             printf("route moves effect %d\n", i); place[i] = QUEUED; any = 1;
             assert(outcome[i] == 0 || outcome[i] == REDRIVEN)     /* S5: what has ended is not queued again */
          :: else
          fi; i++
       :: else -> break
       od; i = 0;
       if
       :: any && !had ->
          assert(state[l] == NOLANE);   /* S5: the lane's primary key; a second router would meet it */
          head_of(l, h);
#ifdef M_FENCE_BY_ATTEMPT
          fence[l] = 0;
#else
          fence[l]++;
#endif
          if
          :: state[l] = DUE
          :: ghosts > 0 -> ghosts--; printf("route leases the lane to a relay that never hears of it\n");
             state[l] = LEASED; owned[l] = 1; inflight_to[l] = pos[h]; claimant[l] = 0;
#ifdef LIFETIME
             first_at[l] = (timed -> 1 : 2)
#endif
          fi
       :: else
       fi;
       if
       :: had -> rowlock[l] = 0
       :: else
       fi;
       router_lock = 0; l = 0; h = 0; seen = 0; had = 0; any = 0 }
  od }

/* ---- claim ---- */
/* A stopped scope: parked, and what an expired lease had in flight stays suspect. */
inline park(l) {
  if
  :: owned[l] ->
     max_of(suspect_to[l], inflight_to[l]); cleared_to[l] = 0; lost[l] = 1; looked[l] = (trouble[l] != 0 -> looked[l] : 0)
  :: else
  fi;
  inflight_to[l] = 0; owned[l] = 0; claimant[l] = 0; state[l] = PARKED; by_switch[l] = 1 }

/* The head, and with keyed kinds what follows it, unless anything about the lane's past is uncertain. */
inline lease(l) {
  head_of(l, c);
  assert(c != NO);                                 /* S5 */
  other = NO;
  sus = (owned[l] && inflight_to[l] >= pos[c]) || (suspect_to[l] >= pos[c] && (owned[l] || cleared_to[l] != pos[c]));
  if
#ifdef BATCH_ANY
  :: !owned[l] && suspect_to[l] == 0 && trouble[l] == 0 -> next_of(l, c, other)
#else
  :: !owned[l] && suspect_to[l] == 0 && trouble[l] == 0 && KEYED(c) -> next_of(l, c, other)
#endif
  :: else
  fi;
  if
  :: other != NO && (NONE(other) != NONE(c) || NATURAL(other) != NATURAL(c)) -> other = NO
  :: else
  fi;
  if
  :: owned[l] -> max_of(suspect_to[l], inflight_to[l]); cleared_to[l] = 0; lost[l] = 1; looked[l] = (trouble[l] != 0 -> looked[l] : 0)
  :: else
  fi;
  fence[l]++;
  f = fence[l]; owned[l] = 1; state[l] = LEASED; claimant[l] = r + 1;
  inflight_to[l] = (other != NO -> pos[other] : pos[c]);
#ifdef LIFETIME
  if
  :: first_at[l] == 0 -> first_at[l] = 1
  :: else
  fi;
#endif
  carried[r] = c }

/* ---- may_send: fence, lease, switch, late evidence, key's lifetime, request to cancel; writes the start row ---- */
#define GO 1
#define GONE 2
#define SHORT 3
#define OFF 4
#define APPLIED 5
#define FORGOTTEN 6
#define CANCEL 7

inline may_send(l, e) {
  saw_run = running && adopted;
  as_none = 0;
  if
#ifdef M_NO_FENCE
  :: state[l] == NOLANE || !owned[l] -> answer = GONE
#else
  :: fence[l] != f || state[l] == NOLANE || !owned[l] -> answer = GONE
#endif
  :: else ->
     if
     :: state[l] != LEASED -> answer = SHORT
#ifndef M_SWITCH_AT_CLAIM
     :: state[l] == LEASED && !saw_run -> answer = OFF
#endif
#ifndef M_LATE_EVIDENCE
     :: state[l] == LEASED && saw_run && (NONE(e) || OLD(l)) && evidence[e] -> answer = APPLIED
#endif
     :: else ->
        if
        :: OLD(l) && KEYED(e) && sus -> answer = FORGOTTEN
#ifdef M_CANCEL_SUSPECT
        :: asked[e] && !answered[e] -> answer = CANCEL
#else
        :: !(OLD(l) && KEYED(e) && sus) && !sus && asked[e] && !answered[e] -> answer = CANCEL
#endif
        :: else -> answer = GO; as_none = (OLD(l) && KEYED(e))
        fi
     fi
  fi }

inline start_row(e) {
  if
  :: answer == GO && (NONE(e) || as_none) ->
     assert(!NONE(e) || !evidence[e]);             /* S2b: the database knows that it happened */
#ifndef STALL
     assert(started[e] != OPEN);                   /* S2b: no start row while an older one is unresolved */
#endif
     started[e] = OPEN; TRIED(e, f)
  :: else
  fi }

/* ---- settle ---- */
#define KEEP 1
#define NEXT 2
#define RETRY 3
#define UNSURE 4
#define LOOK 5              /* the mode `unknown` */
#define ABSENT 6
#define BLOCK_UNKNOWN 7
#define BLOCK_FAILED 8
#define BLOCK_SWITCH 9

#define UNCERTAIN(m) (m == UNSURE || m == LOOK || m == BLOCK_UNKNOWN)
#define BLOCKS(m) (m >= BLOCK_UNKNOWN)

inline end_effect(e, how) {
  if
  :: place[e] == QUEUED -> place[e] = ENDED; outcome[e] = how; started[e] = 0; fresh = 1; evidence[e] = 0;
     maybe_applied[e] = (how == FAILED && sus);
     if
     :: how == FAILED -> DATED(e, f)
     :: else
     fi;
     if
     :: asked[e] -> answered[e] = 1
     :: else
     fi
  :: else
  fi }

#ifdef M_NO_FENCE
#define MINE(l) (state[l] != NOLANE)
#else
#ifdef M_STATE_ONLY
#define MINE(l) (state[l] == LEASED && owned[l])
#else
#ifdef M_REPEATED_SETTLE
#define MINE(l) (state[l] != NOLANE && fence[l] == f)
#else
#define MINE(l) (state[l] != NOLANE && fence[l] == f && owned[l])
#endif
#endif
#endif

/* Late: what was learned is kept. A start of a holder that was slow, not dead, no longer counts; that the lane was taken over stays. */
inline late_evidence(l) {
  if
  :: done0 != NO && place[done0] != ENDED -> evidence[done0] = 1
  :: else
  fi;
  if
  :: done1 != NO && place[done1] != ENDED -> evidence[done1] = 1
  :: else
  fi;
#ifdef M_TAKE_OVER_FORGOTTEN
  if
  :: !rowlock[l] && lost[l] && head_said && IS_HEAD(c) -> lost[l] = 0
  :: else
  fi
#endif
}

/* The lane's row after a settlement whose head is now h; everything on the right is the row as it was. */
inline write_lane(l, h) {
  uncertain = UNCERTAIN(mode);
  silent = (mode == NEXT && !fresh);
  if
  :: mode == BLOCK_FAILED -> outcome[h] = FAILED; maybe_applied[h] = sus; DATED(h, f)
  :: else
  fi;
  lost[l] = (!fresh && (mode == KEEP || mode == NEXT || (!head_said && trouble[l] != UNKNOWN && (mode == RETRY || BLOCKS(mode))) || keeps_lost) -> lost[l] : 0);
  looked[l] = (looks || (!fresh && (mode == KEEP || mode == NEXT || mode == LOOK || BLOCKS(mode) || ((mode == RETRY || mode == UNSURE) && trouble[l] != 0)) && looked[l]));
  if
  :: mode == LOOK || mode == BLOCK_UNKNOWN -> trouble[l] = UNKNOWN
  :: mode == BLOCK_FAILED -> trouble[l] = FAILED
  :: !fresh && (mode == KEEP || mode == NEXT || mode == BLOCK_SWITCH || ((mode == RETRY || mode == UNSURE) && pos[h] <= suspect_to[l])) -> skip
  :: else -> trouble[l] = 0
  fi;
#ifdef LIFETIME
  if
  :: mode == NEXT && fresh && pos[h] > suspect_to[l] -> first_at[l] = 0
  :: else
  fi;
#endif
  if
  :: mode == ABSENT ->
#ifndef M_NO_CLEARED_MARK
     cleared_to[l] = pos[h]
#endif
  :: mode != ABSENT && (uncertain || silent || pos[h] != cleared_to[l]) -> cleared_to[l] = 0
  :: else
  fi;
  if
#ifdef M_RETRY_UNSURE
  :: mode == UNSURE -> skip
#endif
  :: uncertain -> max_of(suspect_to[l], pos[h])
  :: !uncertain && silent -> max_of(suspect_to[l], inflight_to[l])
  :: !uncertain && !silent && pos[h] > suspect_to[l] -> suspect_to[l] = 0
#ifdef M_SUSPECTS_FORGOTTEN
  :: !uncertain && !silent && fresh -> suspect_to[l] = 0
#endif
  :: else
  fi;
  if
  :: mode == KEEP -> state[l] = LEASED
  :: mode != KEEP -> inflight_to[l] = 0; owned[l] = 0; claimant[l] = 0;
     if
     :: BLOCKS(mode) -> state[l] = PARKED; by_switch[l] = (mode == BLOCK_SWITCH)
     :: (mode == LOOK && !soon) || (mode == UNSURE && NATURAL(h)) -> state[l] = WAITS
     :: else -> state[l] = DUE
     fi;
#ifdef M_FENCE_BY_ATTEMPT
     if
     :: mode == NEXT && fresh -> fence[l] = 0                                             /* the attempts of another effect */
     :: (mode == RETRY || mode == BLOCK_SWITCH) && !head_said && !fresh -> fence[l]--     /* given back */
     :: else
     fi
#endif
  fi }

/* What the lane's holder has to say: done0, done1 have happened, c has ended as `fin`, the mode is about the head. */
inline settle(l) {
  assert(claimant[l] == r + 1);                    /* S4 */
  fresh = 0;
  if
  :: done0 != NO -> end_effect(done0, COMPLETED)
  :: else
  fi;
  if
  :: done1 != NO -> end_effect(done1, COMPLETED)
  :: else
  fi;
  if
  :: fin != 0 -> end_effect(c, fin)
#ifndef M_LATE_EVIDENCE
  :: mode == ABSENT && evidence[c] -> end_effect(c, COMPLETED); mode = NEXT   /* found beats absent, in the same statement */
#endif
  :: else
  fi;
#ifdef M_LANE_DELETED_UNSEEN
  if
  :: fresh && !behind -> h = NO
  :: else -> head_of(l, h)
  fi;
#else
  head_of(l, h);
#endif
  if
  :: h == NO -> drop_lane(l)
  :: else ->
     assert(mode == KEEP || mode == NEXT || h == c);   /* S4 */
     if
     :: head_said && mode == RETRY -> started[c] = 0; TRIED(c, f)
     :: head_said && mode == BLOCK_FAILED -> started[c] = (started[c] -> REFUSED_START : 0); TRIED(c, f)
     :: head_said && (mode == UNSURE || mode == LOOK || mode == BLOCK_UNKNOWN) && !soon -> TRIED(c, f)
     :: mode == ABSENT -> started[c] = 0; unresolved[c] = 0
     :: else
     fi;
     write_lane(l, h)
  fi;
  h = 0; fresh = 0; uncertain = 0; silent = 0 }
