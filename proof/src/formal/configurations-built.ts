import { calm } from './budgets.js';
import type { Configuration } from './configuration.js';

/** The engine as it is built: no execution may break a property. */
export const BUILT: readonly Configuration[] = [
  quick('still', 'a keyed effect and one without idempotency, nothing goes wrong', calm()),
  quick('pause', 'one lease ends under a living owner', calm('-DPAUSES=1')),
  quick('crash', 'one relay dies at any step', calm('-DCRASHES=1')),
  quick('fault', 'one request or answer is lost or late', calm('-DFAULTS=1')),
  quick('fault-cycles', 'the same, looking for executions without end', calm('-DFAULTS=1'), 'cycles'),
  quick('reply', 'an answer of settle or may_send is lost, and a pause', calm('-DREPLIES=1', '-DPAUSES=1')),
  quick('stall', 'a may_send whose commit takes longer than the lease', calm('-DSTALL', '-DPAUSES=1')),
  quick('switch', 'off and on again, a claim that read it before', calm('-DSWITCHES=1')),
  quick('fingerprint', 'another fingerprint, then adopted', calm('-DSWITCHES=1', '-DHOLD')),
  quick('cancel', 'a request to cancel any effect', calm('-DCANCELS=1')),
  quick('cancel-fault', 'the same in a keyed lane, and a fault', calm('-DCANCELS=1', '-DFAULTS=1', '-DNONE_MASK=0')),
  quick('dead-letter', 'refused for good; a person redrives or skips', calm('-DREFUSALS=1', '-DPEOPLE=1')),
  quick('ask', 'unknown, and only a person can tell', calm('-DASK_MASK=3', '-DFAULTS=1', '-DPEOPLE=1')),
  quick('doubt', 'look-ups that cannot tell', calm('-DDOUBTS=2', '-DFAULTS=1')),
  quick('lifetime', 'keyed; their keys are forgotten, a crash', calm('-DLIFETIME', '-DNONE_MASK=0', '-DCRASHES=1')),
  quick(
    'natural',
    'a natural effect before a keyed one, a fault',
    calm('-DNATURAL_MASK=1', '-DNONE_MASK=0', '-DFAULTS=1'),
  ),
  full('base', 'a crash, a pause and a fault', '-DCRASHES=1', '-DPAUSES=1', '-DFAULTS=1'),
  full(
    'keyed',
    'both keyed, sent in one claim: a crash, a pause and a fault',
    '-DNONE_MASK=0',
    '-DCRASHES=1',
    '-DPAUSES=1',
    '-DFAULTS=1',
  ),
  full(
    'loose',
    'and one without ordering key, delayed: a fault',
    ...calm('-DLOOSE_EFFECTS=1', '-DNONE_MASK=6', '-DFAULTS=1'),
  ),
  full('three-pause', 'keyed, without idempotency, keyed: a pause', ...calm('-DLANE_EFFECTS=3', '-DPAUSES=1')),
  full('three-crash', 'the same: a crash', ...calm('-DLANE_EFFECTS=3', '-DCRASHES=1')),
  full('three-fault', 'the same: a fault', ...calm('-DLANE_EFFECTS=3', '-DFAULTS=1')),
  full('cancel-mixed', 'a request to cancel: a pause and a fault', ...calm('-DCANCELS=1', '-DPAUSES=1', '-DFAULTS=1')),
  full(
    'cancel-keyed',
    'the same, both keyed: a crash and a fault',
    ...calm('-DCANCELS=1', '-DCRASHES=1', '-DFAULTS=1', '-DNONE_MASK=0'),
  ),
  full(
    'cancel-ghost',
    'a lease that nobody ever heard of, a request to cancel, a crash',
    ...calm('-DGHOSTS=1', '-DCANCELS=1', '-DCRASHES=1'),
  ),
  full(
    'cancel-switch',
    'a request to cancel while it is off, a crash',
    ...calm('-DCANCELS=1', '-DSWITCHES=1', '-DCRASHES=1'),
  ),
  full('switch-fault', 'off and on again: a pause and a fault', ...calm('-DSWITCHES=1', '-DPAUSES=1', '-DFAULTS=1')),
  full(
    'lifetime-fault',
    'keys are forgotten: a crash and a fault',
    ...calm('-DLIFETIME', '-DNONE_MASK=0', '-DCRASHES=1', '-DFAULTS=1'),
  ),
  full(
    'natural-both',
    'two natural effects: a crash, a fault, a refusal',
    ...calm('-DNATURAL_MASK=3', '-DNONE_MASK=0', '-DCRASHES=1', '-DFAULTS=1', '-DREFUSALS=1'),
  ),
  full(
    'people-fault',
    'two acts of people: a refusal and two faults',
    ...calm('-DPEOPLE=2', '-DREFUSALS=1', '-DFAULTS=2'),
  ),
  full(
    'people-loose',
    'a dead letter without ordering key is redriven in a lane of its own',
    ...calm('-DLOOSE_EFFECTS=1', '-DPEOPLE=1', '-DREFUSALS=1'),
  ),
  full(
    'people-pause',
    'an act of a person while the owner is paused: a fault',
    ...calm('-DPEOPLE=1', '-DPAUSES=1', '-DFAULTS=1'),
  ),
  full(
    'pause-rest',
    "beyond the timing assumption: everything but the provider's book",
    ...calm('-DA_PAUSE', '-DA_LATE', '-DNOT_THE_PROVIDER', '-DPAUSES=1', '-DFAULTS=1'),
  ),
  full(
    'pause-fenced',
    'beyond it, with a target that refuses lower fences',
    ...calm('-DA_PAUSE', '-DFENCED_TARGET', '-DPAUSES=2'),
  ),
  cycles('base-cycles', 'executions without end: a crash and a fault', calm('-DCRASHES=1', '-DFAULTS=1')),
  cycles(
    'lifetime-cycles',
    'executions without end: keys are forgotten, a pause',
    calm('-DLIFETIME', '-DNONE_MASK=0', '-DPAUSES=1'),
  ),
  cycles('switch-cycles', 'executions without end: off and on, a fault', calm('-DSWITCHES=1', '-DFAULTS=1')),
  cycles(
    'people-cycles',
    'executions without end: an act of a person, a fault',
    calm('-DPEOPLE=1', '-DFAULTS=1', '-DREFUSALS=1'),
  ),
];

function quick(
  name: string,
  about: string,
  flags: string[],
  search: Configuration['search'] = 'states',
): Configuration {
  return { name, about, flags, search, expect: 'holds', broken: [], quick: true };
}

function full(name: string, about: string, ...flags: string[]): Configuration {
  return { name, about, flags, search: 'states', expect: 'holds', broken: [], quick: false };
}

function cycles(name: string, about: string, flags: string[]): Configuration {
  return { name, about, flags, search: 'cycles', expect: 'holds', broken: [], quick: false };
}
