/* What a configuration can set, with -DNAME or -DNAME=value. Budgets bound how often something bad happens in one execution.
   -DM_...  a mutant: one rule of the engine is broken. It must be caught.
   -DA_...  a world beyond the timing assumption (see world.pml). */

#ifndef LANE_EFFECTS
#define LANE_EFFECTS 2      /* effects that share one ordering key */
#endif
#ifndef LOOSE_EFFECTS
#define LOOSE_EFFECTS 0     /* effects without ordering key: 0 or 1; it starts delayed */
#endif
#ifndef NONE_MASK
#define NONE_MASK 2         /* bit e: effect e is of a kind without idempotency; the others are keyed */
#endif
#ifndef NATURAL_MASK
#define NATURAL_MASK 0      /* bit e: effect e is natural: its target acts on every copy, harmlessly */
#endif
#ifndef ASK_MASK
#define ASK_MASK 0          /* bit e: effect e cannot be looked up: a person is asked */
#endif
#ifndef CRASHES
#define CRASHES 1           /* relays that die; they start again with nothing in memory */
#endif
#ifndef PAUSES
#define PAUSES 1            /* leases that end although their owner lives */
#endif
#ifndef FAULTS
#define FAULTS 1            /* requests and answers lost or late, 503 */
#endif
#ifndef REFUSALS
#define REFUSALS 0          /* answers that end an effect as failed */
#endif
#ifndef DOUBTS
#define DOUBTS 0            /* look-ups that cannot tell; after the last one a person is asked */
#endif
#ifndef REPLIES
#define REPLIES 0           /* answers of settle or may_send that never reach the relay */
#endif
#ifndef GHOSTS
#define GHOSTS 0            /* leases that route gives to a relay that never hears of them */
#endif
#ifndef SWITCHES
#define SWITCHES 0          /* times that the switch goes off and on; with -DHOLD the fingerprint changes and is adopted instead */
#endif
#ifndef CANCELS
#define CANCELS 0           /* 0 or 1: somebody cancels one of the effects */
#endif
#ifndef PEOPLE
#define PEOPLE 0            /* requests of people: skip, redrive, resolve */
#endif
/* -DLIFETIME: the key of whatever was claimed before some moment is no longer trusted, and later the target forgets it. */

#define EFFECTS (LANE_EFFECTS + LOOSE_EFFECTS)
#define NO 255

#define NONE(e) ((NONE_MASK >> (e)) & 1)
#define NATURAL(e) ((NATURAL_MASK >> (e)) & 1)
#define KEYED(e) (!NONE(e) && !NATURAL(e))
#define ASKS(e) ((ASK_MASK >> (e)) & 1)
/* Lane 0 has an ordering key, lane 1 is that of the loose effect. */
#define LANE(e) ((e) < LANE_EFFECTS -> 0 : 1)
