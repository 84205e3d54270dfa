/* The tables, as far as they decide anything, and the ghosts that only the properties read. */

/* where an effect stands: waiting, effect_arrival, effect_queue, out of the hot tables */
#define WAITING 1
#define ARRIVED 2
#define QUEUED 3
#define ENDED 4
/* its latest outcome row; REDRIVEN: failed, and on its way again */
#define COMPLETED 1
#define CANCELLED 2
#define FAILED 3
#define REDRIVEN 4
/* what ready_at, owner and parked_by of a lane say together; WAITS: not due before lease end + timeout of its head's latest attempt */
#define NOLANE 0
#define DUE 1
#define LEASED 2
#define WAITS 3
#define PARKED 4
/* lane.trouble */
#define UNKNOWN 1
/* FAILED as above */
/* a start row: may have left; refused by the provider, so it certainly did nothing */
#define OPEN 1
#define REFUSED_START 2

byte place[EFFECTS], pos[EFFECTS], outcome[EFFECTS];
byte started[EFFECTS];
bit maybe_applied[EFFECTS];
bit evidence[EFFECTS];                        /* a late `completed` is on record */
bit asked[EFFECTS], answered[EFFECTS];        /* a request to cancel */

byte state[2], fence[2], trouble[2];
byte inflight_to[2], suspect_to[2], cleared_to[2];
bit owned[2], lost[2], looked[2];
bit by_switch[2];                             /* parked until the scope is on, not until a person acts */
bit rowlock[2];                               /* route holds the lane's row: everybody else skips it */

byte positions;                               /* the sequence */
bit router_lock, lane_lock;
bit running = 1;                              /* the switch */
bit adopted = 1;                              /* the fingerprint is that of the adopted installation */

#ifdef LIFETIME
byte first_at[2];                             /* 0 null, 1 trusted, 2 the key of the head may be forgotten */
bit timed = 1;                                /* the moment has not come yet */
bit dated[EFFECTS], forgotten[EFFECTS];       /* its key was used before that moment; the target has forgotten it */
#define OLD(l) (first_at[l] == 2)
#else
#define OLD(l) 0
#endif

/* what a person asked for: one request at a time */
#define SKIP 1
#define REDRIVE 2
#define RESOLVE 3
byte wish, wish_about, wish_as;
byte wish_effect = NO;
#if PEOPLE > 0
byte try_fence[EFFECTS];                      /* fence of the latest start or end row */
byte outcome_fence[EFFECTS];
#define TRIED(e, f) try_fence[e] = f
#define DATED(e, f) outcome_fence[e] = f
#else
#define TRIED(e, f) skip
#define DATED(e, f) skip
#endif

/* the wire: one request per relay; requests whose sender is gone are orphans */
#define REQUEST 1
#define OK 2
#define REFUSED 3
#define DROPPED 4
#define FORBIDDEN 5
byte wire[2], carried[2];
bit leaving[2];                               /* told `go`, the bytes have not left yet */
byte orphans[EFFECTS];
byte accepted[EFFECTS];                       /* the provider's book */
#ifdef FENCED_TARGET
byte carried_fence[2], floor_fence[EFFECTS];
byte look_budget = 2;
#endif

bit killed[2];
byte crashes = CRASHES, pauses = PAUSES, faults = FAULTS, refusals = REFUSALS, doubts = DOUBTS, replies = REPLIES, ghosts = GHOSTS;

/* ghosts */
byte born[EFFECTS];                           /* commit order */
byte commits;
bit ever_sent[EFFECTS];
bit unresolved[EFFECTS];                      /* a send that may have happened, and nobody has found out since */
byte claimant[2];                             /* relay + 1 of the latest claim of the lane; 0: dead, or a person's act came after it */

#define IS_SUSPECT(l, e) (pos[e] <= suspect_to[l] && pos[e] != cleared_to[l])

#if EFFECTS > 2
#define THIRD(x) x
#else
#define THIRD(x)
#endif
#if EFFECTS > 3
#define FOURTH(x) x
#else
#define FOURTH(x)
#endif
#define AHEAD(o, e) (place[o] == QUEUED && LANE(o) == LANE(e) && pos[o] < pos[e])
#define IS_HEAD(e) (place[e] == QUEUED && !AHEAD(0, e) && !AHEAD(1, e) THIRD(&& !AHEAD(2, e)) FOURTH(&& !AHEAD(3, e)))

/* the first effect of the lane's queue, or NO; `i` is scratch */
inline head_of(l, result) { d_step {
  result = NO; i = 0;
  do
  :: i < EFFECTS ->
     if
     :: place[i] == QUEUED && LANE(i) == l && (result == NO || pos[i] < pos[result]) -> result = i
     :: else
     fi; i++
  :: else -> break
  od; i = 0 } }

inline next_of(l, e, result) { d_step {
  result = NO; i = 0;
  do
  :: i < EFFECTS ->
     if
     :: place[i] == QUEUED && LANE(i) == l && pos[i] > pos[e] && (result == NO || pos[i] < pos[result]) -> result = i
     :: else
     fi; i++
  :: else -> break
  od; i = 0 } }

#if defined(M_ACT_KEEPS_FENCE) || defined(M_FENCE_BY_ATTEMPT)
#define DRAW(l) skip
#else
#define DRAW(l) fence[l]++
#endif

inline max_of(x, y) { x = (x < (y) -> (y) : x) }

/* Removes a lane that has no rows. Its fence stays: the next lane of that name draws a higher one. */
inline drop_lane(l) {
  state[l] = NOLANE; owned[l] = 0; inflight_to[l] = 0; suspect_to[l] = 0; cleared_to[l] = 0; trouble[l] = 0; lost[l] = 0; looked[l] = 0;
  by_switch[l] = 0; claimant[l] = 0;
#ifdef LIFETIME
  first_at[l] = 0;
#endif
}

/* A person's act, a sweep: the head has left the lane, what is behind it is due, under a new fence. */
inline pass_on(l, h) {
  head_of(l, h);
  if
  :: h == NO -> drop_lane(l)
  :: else ->
     DRAW(l); claimant[l] = 0; state[l] = DUE; owned[l] = 0; inflight_to[l] = 0; cleared_to[l] = 0; trouble[l] = 0; lost[l] = 0; looked[l] = 0; by_switch[l] = 0;
     if
     :: pos[h] > suspect_to[l] -> suspect_to[l] = 0;
#ifdef LIFETIME
        first_at[l] = 0
#endif
     :: else
     fi
  fi }
