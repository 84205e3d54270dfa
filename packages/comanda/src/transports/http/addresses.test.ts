import type { lookup } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { ADDRESS_REFUSED, addressGuard } from './addresses.js';

/** A resolver that answers every name with the same addresses. */
function answering(...addresses: string[]): typeof lookup {
  const resolve = (_: string, __: object, callback: (error: null, found: object[]) => void): void => {
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return resolve as unknown as typeof lookup;
}

function resolve(allow: true | readonly string[], addresses: string[], all: boolean): Promise<unknown> {
  return new Promise((done) => {
    const { lookup } = addressGuard(allow, answering(...addresses));
    lookup('api.example.com', { all } as { all: true }, (error, found) => done(error === null ? found : error));
  });
}

describe('H12: addressGuard', () => {
  it('leaves out private addresses of a name, and fails when none is left', async () => {
    const mixed = ['10.0.0.1', '93.184.216.34', '::1', '2606:2800:220:1:248:1893:25c8:1946', 'fe80::1%eth0'];
    expect(await resolve([], mixed, true)).toEqual([
      { address: '93.184.216.34', family: 4 },
      { address: '2606:2800:220:1:248:1893:25c8:1946', family: 6 },
    ]);
    expect(await resolve([], mixed, false)).toBe('93.184.216.34');
    expect(await resolve([], ['10.0.0.1', '::ffff:127.0.0.1'], true)).toMatchObject({ code: ADDRESS_REFUSED });
  });

  it.each([
    // The same address in the forms in which resolvers and hosts files give it.
    ...[
      '127.0.0.1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '::127.0.0.1',
      '::ffff:0:127.0.0.1',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
    ],
    // Cloud metadata: AWS, Azure and Google; Alibaba; Oracle; AWS by IPv6.
    ...['169.254.169.254', '::ffff:a9fe:a9fe', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd00:ec2::254%eth0'],
    ...[
      'fe80::1',
      'fe80::1%lo',
      'fe80::a9fe:a9fe%eth0',
      'fec0::1',
      'ff02::1%eth0',
      '::',
      '::1',
      '0.0.0.0',
      '255.255.255.255',
    ],
    ...['2001:db8::1', '3fff::1', '5f00::1', '192.88.99.1', '224.0.0.1', '198.18.0.1', '172.31.255.255', 'fc00::1'],
  ])('%s is not the public internet', async (address) => {
    expect(await resolve([], [address], true)).toMatchObject({ code: ADDRESS_REFUSED });
    expect(addressGuard([]).refusal(`[${address}]`)).toMatch(/is a private address/);
  });

  it.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8', '2a00::1'])(
    '%s is',
    async (address) => {
      expect(await resolve([], [address], false)).toBe(address);
      expect(addressGuard([]).refusal(address)).toBeUndefined();
    },
  );

  it('allows by network, address and name', async () => {
    expect(await resolve(['10.0.0.0/8'], ['10.0.0.1'], false)).toBe('10.0.0.1');
    expect(await resolve(['fd00::/8'], ['10.0.0.1', 'fd00::1'], false)).toBe('fd00::1');
    expect(await resolve(['API.example.com'], ['10.0.0.1'], false)).toBe('10.0.0.1');
    expect(await resolve(['example.com'], ['10.0.0.1'], false)).toMatchObject({ code: ADDRESS_REFUSED });
    expect(await resolve(true, ['127.0.0.1'], false)).toBe('127.0.0.1');
  });

  it('public hosts are not judged before they are resolved', () => {
    const { refusal } = addressGuard([]);
    expect(['example.com', '93.184.216.34', '[2606:2800::1]', 'localhost.example.com'].map(refusal)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
