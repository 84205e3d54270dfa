import { readFileSync } from 'node:fs';

/** The operating-system user that runs the server when this process is root. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
}

// Accounts that exist for exactly this, best first. `nobody` exists on nearly every system; initdb wants the uid to have
// an entry in the user database, so a number without a name is the last resort.
const CANDIDATES = ['postgres', '_postgres', 'nobody'];
const LAST_RESORT: ServerUser = { uid: 65534, gid: 65534, name: '65534' };

/**
 * Who the server runs as: `undefined` means "as this process". PostgreSQL refuses to run as root, so root hands it to the
 * `postgres` account, or to `nobody`. No account is ever created.
 */
export function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = accounts();
  for (const name of CANDIDATES) {
    const user = users.get(name);
    if (user) return user;
  }
  return LAST_RESORT;
}

function accounts(): Map<string, ServerUser> {
  const users = new Map<string, ServerUser>();
  for (const line of passwd().split('\n')) {
    const [name, , uid, gid] = line.split(':');
    const user = { uid: Number(uid), gid: Number(gid), name: name ?? '' };
    if (usable(user.uid) && usable(user.gid)) users.set(user.name, user);
  }
  return users;
}

function passwd(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8');
  } catch {
    return '';
  }
}

// macOS writes nobody's uid as -2, which chown and spawn disagree about.
function usable(id: number): boolean {
  return Number.isInteger(id) && id > 0 && id < 2 ** 31;
}
