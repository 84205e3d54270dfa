/* Sweeps, the switch, and what people and callers ask for. Every act on a lane draws a new fence. */

/* Level-triggered: whatever is parked under a reason that no longer holds is due. */
inline unpark(l) { state[l] = DUE; by_switch[l] = 0; claimant[l] = 0; DRAW(l) }

#define UNOWNED(l) (state[l] != NOLANE && !owned[l] && !rowlock[l])

/* A cancellation of a head that no send can have reached is applied here; one of an effect that has ended is answered. */
inline sweep_cancel(e) {
  atomic { asked[e] && !answered[e] && outcome[e] != 0 && outcome[e] != REDRIVEN -> answered[e] = 1 } }

inline sweep_cancel_head(e) {
  atomic { asked[e] && !answered[e] && UNOWNED(LANE(e)) && trouble[LANE(e)] == 0 && IS_HEAD(e) && !IS_SUSPECT(LANE(e), e) ->
    printf("a sweep cancels effect %d\n", e);
    place[e] = ENDED; outcome[e] = CANCELLED; answered[e] = 1; started[e] = 0; evidence[e] = 0; pass_on(LANE(e), h); h = 0 } }

#if PEOPLE > 0
/* request(): what a person saw, and which try it was about. A person judges an unknown outcome no sooner than a look-up would: T. */
inline ask_for(e) {
  if
  :: place[e] == QUEUED && trouble[LANE(e)] == UNKNOWN && OVER(e) ->
     head_of(LANE(e), h);
     if
     :: h == e -> wish = RESOLVE; wish_about = try_fence[e];
        if
        :: accepted[e] > 0 -> wish_as = COMPLETED
        :: accepted[e] == 0 -> wish_as = REDRIVEN
        :: accepted[e] == 0 -> wish_as = FAILED
        fi
     :: else -> wish = SKIP
     fi
  :: outcome[e] == FAILED -> wish = REDRIVE; wish_about = outcome_fence[e]
  :: place[e] >= ARRIVED -> wish = SKIP
  fi;
  wish_effect = e; h = 0;
  printf("a person asks for <wish %d> of effect %d\n", wish * 10 + wish_as, e) }

proctype person() {
  byte left = PEOPLE, h, i;
end:
  do
  :: atomic { left > 0 && wish == 0 && place[0] >= ARRIVED -> ask_for(0); left-- }
  :: atomic { left > 0 && wish == 0 && place[1] >= ARRIVED -> ask_for(1); left-- }
#if EFFECTS > 2
  :: atomic { left > 0 && wish == 0 && place[2] >= ARRIVED -> ask_for(2); left-- }
#endif
  :: left > 0 -> left = 0; break
  :: left == 0 -> break
  od }

inline answer_wish() { wish = 0; wish_effect = NO; wish_about = 0; wish_as = 0; h = 0 }
#define AT_WORK(l) (owned[l] && state[l] == LEASED)
#define WISH_LANE LANE(wish_effect)

#ifdef M_STALE_RESOLVE
#define SAME_TRY 1
#else
#define SAME_TRY (wish_about == try_fence[wish_effect])
#endif

/* apply_request(): nothing while the lane is at work, unless what it speaks about is over */
#define RESOLVE_IS_OVER (place[wish_effect] == ENDED || trouble[WISH_LANE] != UNKNOWN || (!AT_WORK(WISH_LANE) && !SAME_TRY))
#define RESOLVE_APPLIES (place[wish_effect] != ENDED && trouble[WISH_LANE] == UNKNOWN && !AT_WORK(WISH_LANE) && !rowlock[WISH_LANE] && SAME_TRY)

inline apply_resolve() {
  assert(IS_HEAD(wish_effect));     /* S5 */
  printf("a person resolves effect %d\n", wish_effect);
  if
  :: wish_as == REDRIVEN ->
     started[wish_effect] = 0; unresolved[wish_effect] = 0; cleared_to[WISH_LANE] = pos[wish_effect]; state[WISH_LANE] = DUE; trouble[WISH_LANE] = 0;
     looked[WISH_LANE] = 0; lost[WISH_LANE] = 0; owned[WISH_LANE] = 0; inflight_to[WISH_LANE] = 0; claimant[WISH_LANE] = 0; DRAW(WISH_LANE)
  :: else ->
     unresolved[wish_effect] = 0; place[wish_effect] = ENDED; outcome[wish_effect] = wish_as; started[wish_effect] = 0; evidence[wish_effect] = 0; DATED(wish_effect, fence[WISH_LANE] + 1);
     pass_on(WISH_LANE, h)
  fi;
  answer_wish() }

#define REDRIVE_IS_OVER (outcome[wish_effect] != FAILED || wish_about != outcome_fence[wish_effect] \
  || (place[wish_effect] == ENDED && WISH_LANE == 0 && maybe_applied[wish_effect]))
#define REDRIVE_APPLIES (!(REDRIVE_IS_OVER) && (place[wish_effect] == QUEUED -> !rowlock[WISH_LANE] : WISH_LANE == 1 || lane_lock == 0))

inline apply_redrive() {
  printf("a person redrives effect %d\n", wish_effect);
  outcome[wish_effect] = REDRIVEN;
  if
  :: place[wish_effect] == QUEUED ->
     state[WISH_LANE] = DUE; trouble[WISH_LANE] = 0; lost[WISH_LANE] = 0; looked[WISH_LANE] = 0; claimant[WISH_LANE] = 0; DRAW(WISH_LANE)
  :: place[wish_effect] == ENDED && WISH_LANE == 0 ->      /* skipped before: its place is at the end now */
     positions++; pos[wish_effect] = positions; commits++; born[wish_effect] = commits; place[wish_effect] = ARRIVED
  :: else ->                                               /* a lane of its own */
     positions++; pos[wish_effect] = positions; place[wish_effect] = QUEUED; state[1] = DUE; DRAW(1);
     suspect_to[1] = (maybe_applied[wish_effect] -> positions : 0)
  fi;
  answer_wish() }

#define REFUSED_SKIP (trouble[WISH_LANE] != FAILED && (trouble[WISH_LANE] == UNKNOWN || IS_SUSPECT(WISH_LANE, wish_effect)))
#define SKIP_TURN (UNOWNED(WISH_LANE) && IS_HEAD(wish_effect))
#define SKIP_IS_OVER (place[wish_effect] == ENDED || (SKIP_TURN && REFUSED_SKIP))
#define SKIP_APPLIES (SKIP_TURN && !REFUSED_SKIP)

inline apply_skip() {
  printf("a person skips effect %d\n", wish_effect);
  outcome[wish_effect] = (trouble[WISH_LANE] == FAILED -> FAILED : CANCELLED);
  place[wish_effect] = ENDED; started[wish_effect] = 0; evidence[wish_effect] = 0;
  answered[wish_effect] = asked[wish_effect];
  pass_on(WISH_LANE, h);
  answer_wish() }
#endif

proctype sweeps() {
  byte h, i;
end:
  do
  :: false -> skip
#if SWITCHES > 0
#ifndef M_EDGE_TRIGGERED
  :: atomic { state[0] == PARKED && by_switch[0] && running && !rowlock[0] -> unpark(0) }
#if LOOSE_EFFECTS > 0
  :: atomic { state[1] == PARKED && by_switch[1] && running && !rowlock[1] -> unpark(1) }
#endif
#endif
#endif
#if LOOSE_EFFECTS > 0
  :: atomic { place[LANE_EFFECTS] == WAITING -> place[LANE_EFFECTS] = ARRIVED }
#endif
#if CANCELS > 0
#ifndef M_NO_REQUEST_SWEEP
  :: sweep_cancel(0)
  :: sweep_cancel(1)
  :: sweep_cancel_head(0)
  :: sweep_cancel_head(1)
#if EFFECTS > 2
  :: sweep_cancel(2)
  :: sweep_cancel_head(2)
#endif
#endif
#endif
#if PEOPLE > 0
  :: atomic { wish == RESOLVE && RESOLVE_IS_OVER -> printf("it is no longer unknown\n"); answer_wish() }
  :: atomic { wish == RESOLVE && RESOLVE_APPLIES -> apply_resolve() }
  :: atomic { wish == REDRIVE && REDRIVE_IS_OVER -> answer_wish() }
  :: atomic { wish == REDRIVE && REDRIVE_APPLIES -> apply_redrive() }
  :: atomic { wish == SKIP && SKIP_IS_OVER -> answer_wish() }
  :: atomic { wish == SKIP && SKIP_APPLIES -> apply_skip() }
#endif
  od }

#if SWITCHES > 0
proctype switcher() {
  byte left = SWITCHES;
  do
  :: left > 0 ->
#ifdef HOLD
     atomic { printf("the fingerprint is another one\n"); adopted = 0 }
     atomic { printf("a person adopts the installation\n"); adopted = 1; left-- }
#else
     atomic { printf("the switch goes off\n"); running = 0 }
     atomic { printf("the switch goes on\n"); running = 1; left--;
#ifdef M_EDGE_TRIGGERED
       if
       :: state[0] == PARKED && by_switch[0] -> unpark(0)
       :: else
       fi
#endif
     }
#endif
  :: else -> break
  od }
#endif

#if CANCELS > 0
/* cancel(): exact while the effect waits; two statements otherwise, so that it can end in between */
proctype canceller() {
  byte e;
  atomic {
    if
    :: e = 0
    :: e = 1
#if EFFECTS > 2
    :: e = 2
#endif
    fi }
  atomic { place[e] != 0;
#ifdef M_CANCEL_DELETES
    if
    :: place[e] == QUEUED -> printf("cancel deletes effect %d\n", e); place[e] = ENDED; outcome[e] = CANCELLED; goto done
    :: else
    fi;
#endif
    if
    :: place[e] == WAITING -> place[e] = ENDED; outcome[e] = CANCELLED; assert(!ever_sent[e]); goto done     /* S1 */
    :: outcome[e] != 0 && outcome[e] != REDRIVEN -> goto done
    :: else
    fi }
  atomic { printf("effect %d is asked to be cancelled\n", e); asked[e] = 1 }
done:
  skip }
#endif


