import { CALLING } from './calling.js';
import { CONTROL } from './control.js';
import { MAILING } from './mail.js';
import type { Path } from './path.js';
import { PEOPLE } from './people.js';
import { SENDING } from './sending.js';

export const PATHS: readonly Path[] = [...CALLING, ...CONTROL, ...SENDING, ...PEOPLE, ...MAILING];
