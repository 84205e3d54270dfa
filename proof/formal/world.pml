/* Everything around the engine: provider, network, time, death.

   The timing assumption T: a request that `may_send` allowed has reached the provider, or never will, at lease end + timeout of its attempt.
   Nothing in a database can see to that: a process can be stopped, a request held back, for as long as somebody likes.
   -DA_PAUSE drops it for processes, -DA_LATE for the network. */

proctype provider() {
  byte e, i; byte r; bit first;
end:
  do
  :: atomic { wire[0] == REQUEST -> r = 0; goto work }
  :: atomic { wire[1] == REQUEST -> r = 1; goto work }
  :: atomic { orphans[0] > 0 -> e = 0; goto late }
  :: atomic { orphans[1] > 0 -> e = 1; goto late }
#if EFFECTS > 2
  :: atomic { orphans[2] > 0 -> e = 2; goto late }
#endif
#if EFFECTS > 3
  :: atomic { orphans[3] > 0 -> e = 3; goto late }
#endif
  od;
work:
  atomic {
    if
    :: wire[r] != REQUEST -> r = 0; goto end
    :: else
    fi;
    e = carried[r];
#ifdef FENCED_TARGET
    if
    :: carried_fence[r] < floor_fence[e] -> printf("the provider refuses effect %d: its fence is old\n", e); wire[r] = REFUSED; e = 0; r = 0; goto end
    :: else
    fi;
#endif
    if
    :: printf("the provider accepts effect %d\n", e); accept(e); wire[r] = OK
    :: faults > 0 -> faults--; printf("the provider accepts effect %d, and its answer is lost\n", e); accept(e); wire[r] = DROPPED
    :: faults > 0 -> faults--; wire[r] = DROPPED
    :: faults > 0 -> faults--; wire[r] = REFUSED
    :: refusals > 0 -> refusals--; printf("the provider refuses effect %d for good\n", e); wire[r] = FORBIDDEN
    fi;
    e = 0; r = 0; first = 0; goto end }
late:
  atomic {
    orphans[e]--;
    if
    :: printf("the provider accepts effect %d from a request whose sender no longer waits\n", e); accept(e);
       if
       :: skip
       :: place[e] != ENDED -> evidence[e] = 1     /* a handler that was left behind hears the answer */
       fi
    :: skip
    fi;
    e = 0; first = 0; goto end } }

#ifdef A_PAUSE
#define NOBODY_LEAVES(e) 1
#else
#define NOBODY_LEAVES(e) !((leaving[0] && carried[0] == e) || (leaving[1] && carried[1] == e))
#endif
#ifdef A_LATE
#define NOTHING_TRAVELS(e) 1
#else
#define NOTHING_TRAVELS(e) (orphans[e] == 0 && !((wire[0] == REQUEST && carried[0] == e) || (wire[1] == REQUEST && carried[1] == e)))
#endif
#define OVER(e) (NOBODY_LEAVES(e) && NOTHING_TRAVELS(e))

#define WAITED(e) (!(LANE(e) == 0 && IS_HEAD(e)) || OVER(e))

proctype clock() {
end:
  do
  :: atomic { state[0] == LEASED && claimant[0] == 0 -> state[0] = DUE }
  :: atomic { state[0] == LEASED && claimant[0] != 0 && pauses > 0 -> pauses--; printf("the lease ends, its owner lives\n"); state[0] = DUE }
  :: atomic { state[0] == WAITS && WAITED(0) && WAITED(1) THIRD(&& WAITED(2)) FOURTH(&& WAITED(3)) -> state[0] = DUE }
#if LOOSE_EFFECTS > 0
  :: atomic { state[1] == LEASED && claimant[1] == 0 -> state[1] = DUE }
  :: atomic { state[1] == LEASED && claimant[1] != 0 && pauses > 0 -> pauses--; printf("the lease ends, its owner lives\n"); state[1] = DUE }
  :: atomic { state[1] == WAITS && OVER(LANE_EFFECTS) -> state[1] = DUE }
#endif
#ifdef LIFETIME
  :: atomic { timed ->
       printf("keys used so far are no longer trusted\n");
       timed = 0;
       first_at[0] = (first_at[0] -> 2 : 0); first_at[1] = (first_at[1] -> 2 : 0);
       dated[0] = ever_sent[0]; dated[1] = ever_sent[1] }
  :: atomic { dated[0] && OVER(0) -> dated[0] = 0; forgotten[0] = 1 }
  :: atomic { dated[1] && OVER(1) -> dated[1] = 0; forgotten[1] = 1 }
#endif
  od }

proctype killer() {
  do
  :: atomic { crashes > 0 -> crashes--;
       if
       :: killed[0] = 1
       :: killed[1] = 1
       fi }
  :: break
  od }
