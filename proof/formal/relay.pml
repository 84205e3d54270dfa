/* The engine's protocol: commit order, route, claim, lease, fence, may_send, settle, take-over, unknown, cancel, switch, acts of people.
   One atomic step is one SQL statement or one event on the network. Two deciders, two relays, one router, a provider, and everything that can go wrong.
   docs/explanation/formal-model.md says what is proven here, and what is not. Run it with `npm run model-check`. */
#include "options.pml"
#include "state.pml"
#include "properties.pml"
#include "database.pml"
#include "worker.pml"
#include "world.pml"
#include "people.pml"

init { atomic {
  carried[0] = NO; carried[1] = NO;
#if LANE_EFFECTS > 2
  run decider(0, 2);
#else
  run decider(0, 0);
#endif
#if LOOSE_EFFECTS > 0
  run decider(1, LANE_EFFECTS);
#else
  run decider(1, 1);
#endif
  run router();
#ifdef M_TWO_ROUTERS
  run router();
#endif
  run relay(0); run relay(1); run provider(); run clock(); run sweeps(); run killer();
#if SWITCHES > 0
  run switcher();
#endif
#if CANCELS > 0
  run canceller();
#endif
#if PEOPLE > 0
  run person();
#endif
  run monitor(); run at_rest() } }
