import { MAIL } from '../kinds.js';
import type { Path } from './path.js';

/** One message over SMTP, command by command. */
export const MAILING: readonly Path[] = [
  {
    name: 'mail',
    victim: 'relay',
    kinds: ['ask_human'],
    play: (stage) => stage.decide('order', { ref: 'letter', kind: MAIL }),
    ends: { letter: ['completed'] },
  },
];
