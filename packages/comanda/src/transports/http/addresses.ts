import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import { comandaError } from '../../kernel/errors.js';

/**
 * Networks that are not the public internet: loopback, private, link-local (cloud metadata), shared, reserved, multicast.
 * Source: the special-purpose address registries of IANA (RFC 6890 and its updates).
 */
const PRIVATE_NETWORKS: readonly string[] = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...[
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  // Addresses that wrap an IPv4 address (compatible, translated, NAT64, 6to4, Teredo) could lead back to the ones above.
  ...['::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '2001::/32', '2002::/16'],
  ...[
    '100::/64',
    '2001:10::/28',
    '2001:20::/28',
    '2001:db8::/32',
    '3fff::/20',
    '5f00::/16',
    'fc00::/7',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
  ],
];

/** Decides where requests may go. */
export interface AddressGuard {
  /** Why the host of a URL is refused without asking anybody, or `undefined`. Names are judged when they are resolved. */
  refusal(hostname: string): string | undefined;
  /** `dns.lookup` for sockets that leaves out refused addresses, and fails when none is left. */
  readonly lookup: typeof systemLookup;
}

/** `code` of the error with which the guarded lookup fails. */
export const ADDRESS_REFUSED = 'address_refused';

type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;

/**
 * Makes a guard that refuses private addresses.
 *
 * @param allow `true` allows every address; a list allows host names, addresses and networks (`10.0.0.0/8`)
 * @throws ComandaError COMANDA_INVALID_CONFIG for a network that is not one
 */
export function addressGuard(
  allow: true | readonly string[],
  lookup: typeof systemLookup = systemLookup,
): AddressGuard {
  const entries = allow === true ? [] : allow;
  const isBlocked = networks(PRIVATE_NETWORKS);
  const isAllowed = networks(entries.filter((entry) => entry.includes('/') || isIP(entry) !== 0));
  const allowedHosts = new Set(entries.map((entry) => entry.toLowerCase()));
  const isRefused = (address: string): boolean => allow !== true && isBlocked(address) && !isAllowed(address);

  const refusal = (hostname: string): string | undefined => {
    const host = hostname
      .toLowerCase()
      .replace(/^\[|\]$/g, '')
      .replace(/\.$/, '');
    if (allow === true || allowedHosts.has(host)) return undefined;
    const local = host === 'localhost' || host.endsWith('.localhost');
    return local || (isIP(host) !== 0 && isRefused(host)) ? describe(host) : undefined;
  };

  const guarded = (hostname: string, options: LookupOptions, callback: LookupCallback): void => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const named = allowedHosts.has(hostname.toLowerCase());
      const usable = named ? addresses : addresses.filter(({ address }) => !isRefused(address));
      const [first] = usable;
      if (first === undefined)
        return callback(Object.assign(new Error(describe(hostname)), { code: ADDRESS_REFUSED }), []);
      if (options.all === true) callback(null, usable);
      else callback(null, first.address, first.family);
    });
  };

  return { refusal, lookup: guarded as typeof systemLookup };
}

function describe(host: string): string {
  return `${host} is a private address; list it in allowPrivateAddresses if the target really is inside your network`;
}

/** One list per family: in a shared one an IPv6 network that covers mapped addresses would cover all of IPv4. */
function networks(list: readonly string[]): (address: string) => boolean {
  const ipv4 = new BlockList();
  const ipv6 = new BlockList();
  for (const network of list) {
    const [address = '', prefix] = network.split('/');
    try {
      if (isIP(address) === 6) ipv6.addSubnet(address, prefix === undefined ? 128 : Number(prefix), 'ipv6');
      else ipv4.addSubnet(address, prefix === undefined ? 32 : Number(prefix), 'ipv4');
    } catch (cause) {
      const problem = `allowPrivateAddresses lists '${network}', which is neither a host name, an address nor a network`;
      throw comandaError('COMANDA_INVALID_CONFIG', { problem }, { cause });
    }
  }
  return (address) => {
    const [plain = ''] = address.split('%');
    // An IPv4-mapped IPv6 address is judged by the IPv4 address in it.
    return isIP(plain) === 6 ? ipv6.check(plain, 'ipv6') || ipv4.check(plain, 'ipv6') : ipv4.check(plain, 'ipv4');
  };
}
