/* S1 keyed: one effect at the provider; nothing for `cancelled` and for a `failed` that says "certainly not"; something for `completed`.
   S2 without idempotency: no second acceptance (a); no send while an earlier one is unresolved (b).
   S3 order: whatever was committed before in the lane has ended, or its success is known to this very claim, when something is sent (a);
      the provider never accepts an effect for the first time after one that was committed later (b).
   S4 a settlement is applied by the latest holder of the lane, once, and speaks about the head that it saw.
   S5 structure: ended and outcome, lane and rows, parked and reason belong together.
   S6 the read right before a send saw `run`.
   S7 when nothing can move any longer, every effect has ended or stands behind something that waits for a person, and every request is answered. */

#ifdef NOT_THE_PROVIDER
#define JUDGED 0            /* the provider's side is not judged; everything else is */
#else
#define JUDGED 1
#endif

/* S2b, S3a, S6: right before the bytes leave */
inline check_send(e) { d_step {
#ifndef A_PAUSE
  assert(!((NONE(e) || as_none) && unresolved[e]));                              /* S2b */
#endif
  assert(saw_run);                                                               /* S6 */
  i = 0;
  do
  :: i < EFFECTS ->
     if
     :: i != e && LANE(i) == LANE(e) && born[i] && born[i] < born[e] -> assert(place[i] == ENDED || i == done0)     /* S3a */
     :: else
     fi; i++
  :: else -> break
  od; i = 0;
  unresolved[e] = 1; ever_sent[e] = 1 } }

/* S1, S2a, S3b: the provider takes it */
inline accept(e) { d_step {
  first = (accepted[e] == 0 || NATURAL(e));
#ifdef LIFETIME
  if
  :: NONE(e) || forgotten[e] -> assert(!JUDGED || accepted[e] == 0)              /* S2a */
  :: else
  fi;
#else
  if
  :: NONE(e) -> assert(!JUDGED || accepted[e] == 0)                              /* S2a */
  :: else
  fi;
#endif
  accepted[e] = 1;
  assert(!JUDGED || outcome[e] != CANCELLED);                                    /* S1 */
  assert(!JUDGED || outcome[e] != FAILED || maybe_applied[e]);                   /* S1 */
  i = 0;
  do
  :: i < EFFECTS ->
     if
     :: i != e && LANE(i) == LANE(e) && born[i] > born[e] && accepted[i] > 0 -> assert(!JUDGED || !first || maybe_applied[e])     /* S3b */
     :: else
     fi; i++
  :: else -> break
  od; i = 0 } }

#define IN_QUEUE(e, l) (place[e] == QUEUED && LANE(e) == l)
#define HAS_ROWS(l) (IN_QUEUE(0, l) || IN_QUEUE(1, l) THIRD(|| IN_QUEUE(2, l)) FOURTH(|| IN_QUEUE(3, l)))
#define EFFECT_OK(e) ((place[e] != ENDED || (outcome[e] != 0 && outcome[e] != REDRIVEN)) \
  && (place[e] == ENDED || outcome[e] == 0 || outcome[e] == REDRIVEN || (outcome[e] == FAILED && place[e] == QUEUED && trouble[LANE(e)] == FAILED)) \
  && (!JUDGED || outcome[e] != COMPLETED || accepted[e] > 0) \
  && (!JUDGED || outcome[e] != CANCELLED || accepted[e] == 0) \
  && (!JUDGED || outcome[e] != FAILED || maybe_applied[e] || accepted[e] == 0))
#define LANE_OK(l) ((state[l] != NOLANE) == HAS_ROWS(l) \
  && (state[l] == PARKED) == (by_switch[l] || (state[l] == PARKED && trouble[l] != 0)) \
  && (!owned[l] || (inflight_to[l] > 0 && (state[l] == LEASED || state[l] == DUE))) \
  && (state[l] != LEASED || owned[l]))

proctype monitor() {
end:
  do
  :: atomic { !(EFFECT_OK(0) && EFFECT_OK(1) THIRD(&& EFFECT_OK(2)) FOURTH(&& EFFECT_OK(3)) && LANE_OK(0) && LANE_OK(1)) ->
       printf("the tables contradict each other or the provider's book\n");
       assert(EFFECT_OK(0) && EFFECT_OK(1) THIRD(&& EFFECT_OK(2)) FOURTH(&& EFFECT_OK(3)));      /* S1 S5 */
       assert(LANE_OK(0) && LANE_OK(1)) }                                                         /* S5 */
  od }

#define STANDS(e) (state[LANE(e)] == PARKED && !by_switch[LANE(e)])
#define SETTLED(e) (place[e] == ENDED || (place[e] == QUEUED && STANDS(e)))
#define TOLD(e) (!asked[e] || answered[e] || STANDS(e))

/* S7 */
proctype at_rest() {
  timeout -> atomic {
    printf("nothing can move any longer\n");
    assert(SETTLED(0) && SETTLED(1) THIRD(&& SETTLED(2)) FOURTH(&& SETTLED(3)));     /* S7 */
    assert(TOLD(0) && TOLD(1) THIRD(&& TOLD(2)) FOURTH(&& TOLD(3)));                 /* S7 */
    assert(wish == 0 || STANDS(wish_effect)) } }                                     /* S7 */
