/** Who is let in, and how refusals are slowed. */

import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import { createSlowFailures } from '../../../src/teams/auth/auth.js';
import { authenticate, type KeyHeaders } from '../../../src/teams/auth/authenticate.js';
import {
  createDirectory,
  type Directory,
  generateApiKey,
  TEAM_PREFIX,
} from '../../../src/teams/auth/directory.js';
import { KEY_PREFIX, type KeyRecord, type KeySecret } from '../../../src/teams/auth/key-record.js';
import type { RefusedKey } from '../../../src/telemetry/refused-keys.js';
import { createStandingClock } from '../../support/test-clock.js';
import { openKeys } from './keys.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const iso = (ms: number) => new Date(ms).toISOString();

let keys: Awaited<ReturnType<typeof openKeys>>;
beforeEach(async () => {
  keys = await openKeys();
});

interface Circumstances {
  readonly nowMs?: number;
  readonly staleForMs?: number;
  readonly directory?: Directory;
  readonly persons?: Parameters<typeof authenticate>[1]['persons'];
  readonly onRefused?: (refused: RefusedKey) => void;
}

function enter(headers: Partial<KeyHeaders>, circumstances: Circumstances = {}) {
  return authenticate(
    { authorization: [], apiKey: [], ...headers },
    {
      directory: keys.directory,
      persons: { find: () => null, keyFault: () => null },
      nowMs: NOW,
      staleForMs: 0,
      maxStaleMs: 900_000,
      onRefused: () => {},
      ...circumstances,
    },
  );
}

/** `the key id` when it is let in, else the code of the refusal. */
function outcome(headers: Partial<KeyHeaders>, circumstances: Circumstances = {}): string {
  try {
    return enter(headers, circumstances).key.id;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.code;
  }
}

describe('a valid key', () => {
  it('gives its team, in either header, or the same in both', async () => {
    const key = await keys.issue();
    expect(enter({ apiKey: [key] }).team.id).toBe('growth');
    for (const headers of [
      { authorization: [`Bearer ${key}`] },
      { authorization: [`bearer   ${key}  `] },
      { apiKey: [` ${key} `] },
      { authorization: [`Bearer ${key}`], apiKey: [key] },
    ]) {
      expect(outcome(headers)).toBe('key_1');
    }
  });

  it('is valid until it expires, to the millisecond', async () => {
    const key = await keys.issue({ expiresAt: iso(NOW) });
    expect(outcome({ apiKey: [key] }, { nowMs: NOW - 1 })).toBe('key_1');
    expect(outcome({ apiKey: [key] }, { nowMs: NOW })).toBe('expired_api_key');
    expect(outcome({ apiKey: [await keys.issue({ expiresAt: 'soon' })] })).toBe('expired_api_key');
  });
});

describe('a key that a person made', () => {
  it.each([
    [null, 'key_1'],
    ['long-ago', 'expired_api_key'],
    ['not-allowed', 'revoked_api_key'],
  ] as const)('whose maker is judged %s gives %s, for its team', async (fault, expected) => {
    const key = await keys.issue({ maker: 'person_1' });
    const asked: unknown[] = [];
    const keyFault = (...about: unknown[]) => {
      asked.push(about);
      return fault;
    };
    expect(outcome({ apiKey: [key] }, { persons: { find: () => null, keyFault } })).toBe(expected);
    expect(asked).toEqual([['person_1', 'growth', NOW]]);
    const session = { holder: 'key_1', isPerson: false, team: null, binds: () => true };
    expect(outcome({ session }, { persons: { find: () => null, keyFault } })).toBe(expected);
  });

  it('has of its scopes only those of the team, as the team has them now', async () => {
    const key = await keys.issue({ maker: 'person_1', scopes: ['report:read', 'report:pin'] });
    const scopes = () => enter({ apiKey: [key] }).team.scopes;
    expect(scopes()).toEqual(['report:read']);
    expect(enter({ apiKey: [key] }).team).toBe(enter({ apiKey: [key] }).team);
    await keys.addTeam({ id: 'growth', scopes: ['report:pin', 'mcp'] });
    expect(scopes()).toEqual(['report:pin']);
    expect(enter({ apiKey: [await keys.issue()] }).team.scopes).toEqual(['report:pin', 'mcp']);
  });
});

/** What it is refused with. */
function refusal(headers: Partial<KeyHeaders>, circumstances: Circumstances = {}): unknown {
  try {
    return enter(headers, circumstances);
  } catch (error) {
    return error;
  }
}

it('a request without a key is told how to send one, also while the store is away', () => {
  const refused = { code: 'missing_api_key', status: 401 };
  const headers = { 'www-authenticate': 'Bearer realm="dsp-gateway"' };
  expect(refusal({})).toMatchObject({ ...refused, options: { headers } });
  expect(refusal({}, { staleForMs: 900_001 })).toMatchObject(refused);
});

describe('a key that cannot be', () => {
  it.each([
    ['another scheme', (key: string) => ({ authorization: [`Basic ${key}`] })],
    ['two words', (key: string) => ({ authorization: [`Bearer ${key} ${key}`] })],
    ['no key after the scheme', () => ({ authorization: ['Bearer '] })],
    ['an empty header', () => ({ apiKey: [''] })],
    ['the header twice, with the same key', (key: string) => ({ apiKey: [key, key] })],
    [
      'authorization twice, with the same key',
      (key: string) => ({ authorization: [`Bearer ${key}`, `Bearer ${key}`] }),
    ],
    [
      'two different keys',
      (key: string) => ({ authorization: [`Bearer ${key}`], apiKey: [generateApiKey()] }),
    ],
    ['a key beside another scheme', (key: string) => ({ authorization: ['Basic Zm9v'], apiKey: [key] })],
    ['two keys in one header, as a proxy joins them', (key: string) => ({ apiKey: [`${key}, ${key}`] })],
    ['unicode that looks like it', (key: string) => ({ apiKey: [key.replace('dgw', 'dɡw')] })],
  ])('is 401: %s', async (_what, headersOf) => {
    const key = await keys.issue();
    expect(outcome(headersOf(key))).toBe('invalid_api_key');
  });

  it('is refused before any look-up, and before the age of the copy is asked', () => {
    const directory = createDirectory(keys.registry, () => expect.unreachable('looked up'));
    fc.assert(
      fc.property(
        fc.noShrink(fc.nat().map(generateApiKey)),
        fc.nat(42),
        fc.string({ minLength: 1, maxLength: 1 }),
        (key, at, other) => {
          fc.pre(key[at] !== other && other.trim() !== '');
          const nearMiss = key.slice(0, at) + other + key.slice(at + 1);
          expect(outcome({ apiKey: [nearMiss] }, { directory, staleForMs: 1e9 })).toBe('invalid_api_key');
        },
      ),
    );
  });

  it('never shows itself in what is thrown', () => {
    const key = generateApiKey();
    for (const text of [key, key.slice(0, -1)]) {
      const { message, options } = refusal({ apiKey: [text] }) as GatewayError;
      expect(JSON.stringify([message, options])).not.toContain(text.slice(4, 20));
    }
  });
});

describe('a revoked key', () => {
  it('says so, also when it has expired', async () => {
    const key = await keys.issue({ revokedAt: iso(NOW - 1), expiresAt: iso(NOW - 1) });
    expect(outcome({ apiKey: [key] })).toBe('revoked_api_key');
  });

  it('is refused from the moment the change is known', async () => {
    const key = await keys.issue();
    expect(outcome({ apiKey: [key] })).toBe('key_1');
    await keys.save({ ...(keys.directory.key('key_1') as KeyRecord), revokedAt: iso(NOW) });
    expect(outcome({ apiKey: [key] })).toBe('revoked_api_key');
  });

  it('is what the key of a deleted team is', async () => {
    const key = await keys.issue();
    await keys.registry.commit({ writes: new Map([[`${TEAM_PREFIX}growth`, null]]) });
    expect(outcome({ apiKey: [key] })).toBe('revoked_api_key');
  });

  it('that was deleted altogether is unknown', async () => {
    const key = await keys.issue();
    await keys.registry.commit({ writes: new Map([[`${KEY_PREFIX}key_1`, null]]) });
    expect(outcome({ apiKey: [key] })).toBe('invalid_api_key');
  });
});

it('a rolled key has two secrets under one id while they overlap, then the new one alone', async () => {
  const old = await keys.issue();
  const record = keys.directory.key('key_1') as KeyRecord;
  const next = keys.directory.createSecret();
  const [current] = record.secrets;
  if (current === undefined) return expect.unreachable();
  await keys.save({ ...record, secrets: [next.secret, { ...current, validUntil: iso(NOW + 60_000) }] });
  for (const key of [old, next.text]) expect(outcome({ apiKey: [key] })).toBe('key_1');
  const later = { nowMs: NOW + 60_000 };
  expect(outcome({ apiKey: [old] }, { nowMs: NOW + 59_999 })).toBe('key_1');
  expect(outcome({ apiKey: [old] }, later)).toBe('expired_api_key');
  expect(outcome({ apiKey: [next.text] }, later)).toBe('key_1');
  const told = (sent: string, nowMs: number) => {
    try {
      return [enter({ apiKey: [sent] }, { nowMs }).key.id];
    } catch (error) {
      const { detail, help } = (error as GatewayError).options;
      return [detail, help];
    }
  };
  const replaced = `This key was replaced by a new one; it ended on ${iso(NOW + 60_000).slice(0, 10)}.`;
  expect(told(old, NOW + 60_000)).toEqual([replaced, 'Send the new one, which your operator has.']);
  await keys.save({ ...(keys.directory.key('key_1') as KeyRecord), maker: 'person_1' });
  expect(told(old, NOW + 60_000)[1]).toBe('Send the new one, which its maker has.');
  // Then the new one has expired, too.
  await keys.save({ ...(keys.directory.key('key_1') as KeyRecord), expiresAt: iso(NOW + 70_000) });
  expect(told(old, NOW + 70_000)).toEqual([undefined, undefined]);
  await keys.save({ ...(keys.directory.key('key_1') as KeyRecord), revokedAt: iso(NOW) });
  for (const key of [old, next.text]) expect(outcome({ apiKey: [key] })).toBe('revoked_api_key');
});

it('a known key that is refused is told with its team and since when, an unknown one is not', async () => {
  const told: RefusedKey[] = [];
  const onRefused = (refused: RefusedKey) => void told.push(refused);
  const [revokedAt, expiresAt] = [iso(NOW - 2), iso(NOW - 1)];
  const old = await keys.issue();
  const record = keys.directory.key('key_1') as KeyRecord;
  const replaced = { ...(record.secrets[0] as KeySecret), validUntil: expiresAt };
  await keys.save({ ...record, secrets: [keys.directory.createSecret().secret, replaced] });
  const maker = { find: () => null, keyFault: () => 'long-ago' as const };
  const presented = [
    [old, {}],
    [await keys.issue({ revokedAt, expiresAt }), {}],
    [await keys.issue({ expiresAt }), {}],
    [await keys.issue({ maker: 'ada' }), { persons: maker }],
    [generateApiKey(), {}],
    [await keys.issue(), {}],
  ] as const;
  for (const [key, how] of presented) outcome({ apiKey: [key] }, { onRefused, ...how });
  const of = (key: string) => ({ team: 'growth', key, label: expect.stringMatching(/^dgw_\w+…$/) });
  expect(told).toEqual([
    { ...of('key_1'), why: 'replaced', endedAt: expiresAt },
    { ...of('key_2'), why: 'revoked', endedAt: revokedAt },
    { ...of('key_3'), why: 'expired', endedAt: expiresAt },
    { ...of('key_4'), why: 'expired', endedAt: null },
  ]);
});

it('a store that has been away is borne with up to the limit, then nobody is let in', async () => {
  const key = await keys.issue();
  expect(outcome({ apiKey: [key] }, { staleForMs: 900_000 })).toBe('key_1');
  const refused = { code: 'not_ready', status: 503, options: { retryAfterS: 5 } };
  expect(refusal({ apiKey: [key] }, { staleForMs: 900_001 })).toMatchObject(refused);
});

it('an unknown, a revoked, an expired and a valid key cost one hash and one look-up each', async () => {
  const looked: string[] = [];
  const counting = (text: string): Directory => ({
    ...keys.directory,
    findKey: (presented) => {
      looked.push(text);
      return keys.directory.findKey(presented);
    },
  });
  const presented = {
    invalid_api_key: generateApiKey(),
    revoked_api_key: await keys.issue({ revokedAt: iso(NOW) }),
    expired_api_key: await keys.issue({ expiresAt: iso(NOW) }),
    key_3: await keys.issue(),
  };
  for (const [expected, key] of Object.entries(presented)) {
    expect(outcome({ apiKey: [key] }, { directory: counting(expected) })).toBe(expected);
  }
  expect(looked).toEqual(Object.keys(presented));
});

function open() {
  const clock = createStandingClock();
  const failures = createSlowFailures(clock);
  return {
    failures,
    advance: clock.advanceMonotonic,
    /** The delays of so many refusals in a row. */
    flood: (address: string, count: number) => Array.from({ length: count }, () => failures.delayMs(address)),
  };
}

describe('the refusals of an address', () => {
  it('cost nothing at first, then more and more, up to a second, and are no other address’s', () => {
    const { flood } = open();
    const delays = flood('192.0.2.1', 200);
    expect(delays.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 0));
    expect(delays[20]).toBeGreaterThan(0);
    expect(delays).toEqual([...delays].sort((a, b) => a - b));
    expect(delays.at(-1)).toBe(1000);
    expect(flood('192.0.2.2', 20)).toEqual(Array.from({ length: 20 }, () => 0));
  });

  it('are forgotten with time', () => {
    const { flood, advance } = open();
    flood('192.0.2.1', 200);
    advance(30_000);
    expect(flood('192.0.2.1', 1)).toEqual([1000]);
    advance(150_000);
    expect(flood('192.0.2.1', 1)).toEqual([0]);
  });

  it.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['192.0.2.1', '::ffff:192.0.2.1', true],
    ['no address', 'no address', true],
  ])('%s and %s count together: %s', (one, other, together) => {
    const { flood } = open();
    flood(one, 100);
    expect((flood(other, 1)[0] ?? 0) > 0).toBe(together);
  });

  it('of very many addresses are not all remembered', () => {
    const { flood } = open();
    flood('192.0.2.1', 200);
    for (let index = 0; index < 10_000; index++) flood(`10.0.${index >> 8}.${index & 255}`, 1);
    expect(flood('192.0.2.1', 1)).toEqual([0]);
  });

  it('are never held longer than a second, however they come', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 300 }), (pauses) => {
        const { flood, advance } = open();
        for (const pause of pauses) {
          advance(pause);
          const [delay = -1] = flood('192.0.2.1', 1);
          expect(delay).toBeGreaterThanOrEqual(0);
          expect(delay).toBeLessThanOrEqual(1000);
        }
      }),
    );
  });
});

it('beyond 256 refusals held at once, others go out at once', async () => {
  const { failures, flood } = open();
  flood('192.0.2.1', 200);
  let out = 0;
  const held = Array.from({ length: 300 }, () => failures.hold('192.0.2.1').then(() => (out += 1)));
  await Promise.resolve();
  await Promise.resolve();
  await Promise.resolve();
  expect(out).toBe(44);
  await Promise.all(held);
  expect(out).toBe(300);
  // And there is room again.
  const next = failures.hold('192.0.2.1').then(() => (out += 1));
  await Promise.resolve();
  await Promise.resolve();
  expect(out).toBe(300);
  await next;
});
