import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkAddress, isAddressRange } from '../../../src/teams/policy/check-address.js';
import { callerOf } from '../../support/callers.js';
import { codeOf } from '../../support/problems.js';

const check = (address: string, ipAllow: string[]) =>
  codeOf(() => checkAddress(callerOf({ ipAllow }), address));

describe('checkAddress', () => {
  it('lets everybody in when the team has no list', () => {
    expect(check('203.0.113.7', [])).toBeNull();
    expect(check('not an address', [])).toBeNull();
  });

  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['10.0.0.1', '10.0.0.0/8'],
    ['10.255.255.255', '10.1.2.3/8'],
    ['10.0.0.1', '0.0.0.0/0'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.0/24'],
    ['::FFFF:0a00:0001', '10.0.0.1'],
    ['10.0.0.1', '::ffff:10.0.0.1'],
    ['10.0.0.1', '::ffff:10.0.0.0/104'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.0/120'],
    ['2001:db8::1', '2001:db8::1'],
    ['2001:0DB8:0:0::1', '2001:db8::1'],
    ['2001:db8:ffff::9', '2001:db8::/32'],
    ['fe80::1%eth0', 'fe80::/10'],
    ['::1', '::/0'],
    ['192.0.2.9', '10.0.0.0/8 192.0.2.0/24'],
  ])('lets %s in by %s', (address, list) => {
    expect(check(address, list.split(' '))).toBeNull();
  });

  it.each([
    ['10.0.0.2', '10.0.0.1'],
    ['11.0.0.1', '10.0.0.0/8'],
    ['10.0.1.0', '10.0.0.0/24'],
    ['::ffff:11.0.0.1', '10.0.0.0/8'],
    ['11.0.0.1', '::ffff:10.0.0.0/104'],
    ['2001:db9::1', '2001:db8::/32'],
    ['::1', '0.0.0.0/0'],
    ['127.0.0.1', '::/0'],
    ['', '0.0.0.0/0'],
    ['not an address', '0.0.0.0/0'],
    ['10.0.0.1', 'not a range'],
    ['0.0.0.10', '10/8'],
    ['10.0.0.1', '10.0.0.1/33'],
  ])('keeps %s out by %s', (address, list) => {
    expect(check(address, list.split(' '))).toBe('ip_forbidden');
  });

  it('lets exactly those in who share the first bits', () => {
    const bytes = fc.array(fc.nat(255), { minLength: 4, maxLength: 4 });
    const value = (parts: readonly number[]) => parts.reduce((sum, part) => sum * 256 + part, 0);
    fc.assert(
      fc.property(bytes, bytes, fc.integer({ min: 0, max: 32 }), (one, other, bits) => {
        const size = 2 ** (32 - bits);
        const inside = Math.floor(value(one) / size) === Math.floor(value(other) / size);
        expect(check(one.join('.'), [`${other.join('.')}/${bits}`]) === null).toBe(inside);
        expect(check(`::ffff:${one.join('.')}`, [`::ffff:${other.join('.')}/${bits + 96}`]) === null).toBe(
          inside,
        );
      }),
    );
  });
});

describe('isAddressRange', () => {
  it.each([
    '10.0.0.1',
    '10.0.0.0/8',
    '0.0.0.0/0',
    '255.255.255.255/32',
    '::',
    '::1',
    '2001:db8::/32',
    '::ffff:10.0.0.1',
    '::/128',
  ])('takes %s', (text) => {
    expect(isAddressRange(text)).toBe(true);
  });

  it.each([
    '',
    '10',
    '10.0.0',
    '127.1',
    '0x7f000001',
    '2130706433',
    '010.0.0.1',
    '10.0.0.256',
    '10/8',
    '10.0/16',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/255.0.0.0',
    '::/129',
    ':::',
    'localhost',
    '*',
    ' 10.0.0.1',
    '10.0.0.1-9',
  ])('does not take %j, which may not mean what was meant', (text) => {
    expect(isAddressRange(text)).toBe(false);
  });
});
