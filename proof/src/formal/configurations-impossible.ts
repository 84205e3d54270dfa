import type { Configuration } from './configuration.js';

/** Beyond the timing assumption. The manual says what cannot be promised there; here it is seen to happen. */
export const IMPOSSIBLE: readonly Configuration[] = [
  impossible('paused-sender', 'stopped between the start row and the bytes, for longer than lease end + timeout', [
    '-DA_PAUSE',
    '-DCRASHES=0',
    '-DFAULTS=0',
  ]),
  impossible('late-request', 'a request that the network holds back for longer than that', [
    '-DA_LATE',
    '-DCRASHES=0',
    '-DPAUSES=0',
  ]),
];

function impossible(name: string, about: string, flags: string[]): Configuration {
  return { name, about, flags, search: 'states', expect: 'impossible', broken: ['S2a'], quick: true };
}
