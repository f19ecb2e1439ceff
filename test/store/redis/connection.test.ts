import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createClient,
  describeConnection,
  parseRedisUrl,
  retryDelayMs,
} from '../../../src/store/redis/connect.js';
import { createKeys } from '../../../src/store/redis/keys.js';
import { StoreRefused } from '../../../src/store/refused.js';

describe('a Redis URL', () => {
  it.each([
    ['redis://cache', { host: 'cache', port: 6379, db: 0, tls: false }],
    ['redis://cache/', { host: 'cache', port: 6379, db: 0, tls: false }],
    ['rediss://cache.example:7000/3', { host: 'cache.example', port: 7000, db: 3, tls: true }],
    ['redis://[::1]:6380', { host: '::1', port: 6380, db: 0, tls: false }],
    ['redis://:secret@cache', { host: 'cache', port: 6379, db: 0, tls: false, password: 'secret' }],
    [
      'redis://app:p%40ss%2F@cache',
      { host: 'cache', port: 6379, db: 0, tls: false, username: 'app', password: 'p@ss/' },
    ],
  ])('%s', (url, address) => {
    expect(parseRedisUrl(url)).toEqual(address);
  });

  it.each([
    'not a url SECRET',
    'http://:SECRET@cache',
    'redis:///0?SECRET',
    'redis://:SECRET@cache/zero',
    'redis://:SECRET@cache/1/2',
    'redis://:SECRET@cache?enableOfflineQueue=true',
    'redis://:SECRET@cache#x',
    'redis://:SECRET%ZZ@cache',
    'redis://:SECRET@cache:99999',
  ])('is refused without being shown: %s', (url) => {
    let shown = '';
    try {
      parseRedisUrl(url);
    } catch (error) {
      expect(error).toBeInstanceOf(StoreRefused);
      shown = String(error);
    }
    expect(shown).not.toBe('');
    expect(shown).not.toContain('SECRET');
  });

  it('gives back any user and password', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1 }),
        fc.string({ unit: 'binary', minLength: 1 }),
        (username, password) => {
          const url = `redis://${encodeURIComponent(username)}:${encodeURIComponent(password)}@cache`;
          expect(parseRedisUrl(url)).toMatchObject({ username, password });
        },
      ),
    );
  });
});

describe('a connection', () => {
  const nodes = [
    { host: 'a', port: 1 },
    { host: 'b', port: 2 },
  ];

  it('is described without its secrets', () => {
    const secrets = { username: 'SECRET', password: 'SECRET' };
    expect(describeConnection({ url: 'rediss://SECRET:SECRET@cache:1/2' })).toBe('cache:1/2');
    expect(describeConnection({ sentinels: nodes, name: 'main', ...secrets })).toBe(
      'main by sentinels a:1,b:2',
    );
    expect(describeConnection({ cluster: nodes, ...secrets })).toBe('cluster a:1,b:2');
  });

  it.each([
    { connection: { sentinels: [], name: 'main' }, message: /at least one sentinel/ },
    { connection: { sentinels: nodes, name: '' }, message: /name of the primary/ },
    { connection: { cluster: [] }, message: /at least one node/ },
  ])('is refused when it cannot be right: $message', ({ connection, message }) => {
    expect(() => createClient(connection, 'data', 1_000)).toThrow(StoreRefused);
    expect(() => createClient(connection, 'data', 1_000)).toThrow(message);
  });
});

describe('the pause before another try', () => {
  it('doubles from 50 ms to half a second, and is spread over its upper half', () => {
    const longest = [1, 2, 3, 4, 5, 6, 7, 100, 10_000].map((attempt) => retryDelayMs(attempt, 1));
    expect(longest).toEqual([50, 100, 200, 400, 500, 500, 500, 500, 500]);
    const shortest = [1, 2, 3, 10_000].map((attempt) => retryDelayMs(attempt, 0));
    expect(shortest).toEqual([25, 50, 100, 250]);
  });
});

describe('key prefixes', () => {
  it.each(['dgw', 'dgw-2', 'team_a.dgw'])('%s is taken', (prefix) => {
    expect(createKeys(prefix).cache('c5:{s}:1')).toBe(`${prefix}:5:cache:c5:{s}:1`);
  });

  it.each(['', 'a{b', 'a}b', 'a*', 'a b', 'ä'])(
    '%j is refused: it would spoil hash tags or patterns',
    (prefix) => {
      expect(() => createKeys(prefix)).toThrow(StoreRefused);
    },
  );
});
