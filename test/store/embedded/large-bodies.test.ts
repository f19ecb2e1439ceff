/** Large entries on the disk: their bodies lie in pieces, of which nobody handles many at once. */
import { describe, expect, it } from 'vitest';
import type { Environment } from '../../../src/store/embedded/environment.js';
import type { CacheWrite } from '../../../src/store/port.js';
import { turnsOf } from '../../support/turns.js';
import { idOf, type Rig, withCache, writeOf } from './cache-rig.js';

const MIB = 2 ** 20;
const PIECES = { from: Buffer.from('b'), to: Buffer.from('c') };

/** Bytes that differ from piece to piece. */
const bodyOf = (bytes: number) =>
  Buffer.from(Array.from({ length: bytes / 4 }, (_, at) => `${at % 7919}abcd`.slice(0, 4)).join(''));
const LARGE = bodyOf(3 * MIB);

const large = (changes: Partial<CacheWrite> = {}) => writeOf(0, { bytes: LARGE, ...changes });

async function bodyIn({ cache }: Rig): Promise<Buffer | null> {
  const [entry] = await cache.read([idOf(0)]);
  return entry?.bytes ?? null;
}

const piecesIn = (environment: Environment) => environment.read((view) => view.range(PIECES));

describe('a large body', () => {
  it('comes back as it was, in memory that other threads can read', () =>
    withCache(async (rig) => {
      await rig.cache.write([large(), writeOf(1)]);
      const [one, other] = await rig.cache.read([idOf(0), idOf(1)]);
      expect(one?.bytes.equals(LARGE)).toBe(true);
      expect(one?.bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
      expect(other?.bytes.length).toBe(1000);
    }));

  it('is written in transactions of half a MiB at most', () =>
    withCache(async ({ cache, transactions }) => {
      await cache.write([large()]);
      expect(transactions.length).toBeGreaterThan(6);
      expect(Math.max(...transactions)).toBeLessThanOrEqual(MIB / 2);
    }));

  it('is read in turns of half a MiB at most, and by nobody who only writes or removes its entry', () =>
    withCache(async (rig) => {
      await rig.cache.write([large()]);
      rig.calls.length = 0;
      const turns = await turnsOf(() => bodyIn(rig));
      expect(rig.calls).toHaveLength(1 + 12);
      expect(turns).toBeGreaterThanOrEqual(6);
      rig.calls.length = 0;
      await rig.cache.write([large({ version: 2 })]);
      await rig.cache.write([large({ version: 2, ttlMs: 0 })]);
      // The entry alone, twice a change: whether it wins, and what goes with it.
      expect(rig.calls.filter((call) => call === 'get').length).toBeLessThanOrEqual(6);
      expect(rig.calls).not.toContain('range');
    }));

  it('goes with its entry, however that goes', () =>
    withCache(async (rig) => {
      const { cache, environment } = rig;
      await cache.write([large()]);
      expect(piecesIn(environment)).toHaveLength(12);
      await cache.write([large({ version: 2, bytes: LARGE.subarray(0, MIB) })]);
      expect(piecesIn(environment)).toHaveLength(4);
      expect((await bodyIn(rig))?.equals(LARGE.subarray(0, MIB))).toBe(true);
      // An older one changes nothing.
      await cache.write([large()]);
      expect(piecesIn(environment)).toHaveLength(4);
      await cache.write([large({ version: 3, bytes: Buffer.from('small') })]);
      expect(rig.kinds()).toBe('w');
      await cache.write([large({ version: 4 })]);
      await cache.write([large({ version: 5 })]);
      await cache.write([large({ version: 6, ttlMs: 0 })]);
      expect(rig.kinds()).toBe('');
    }));

  it('that another has written over meanwhile is read as one of both, or not at all', () =>
    withCache(async (rig) => {
      await rig.cache.write([large()]);
      const newer = bodyOf(3 * MIB).fill('y');
      const [body] = await Promise.all([bodyIn(rig), rig.cache.write([large({ version: 2, bytes: newer })])]);
      expect(body === null || body.equals(LARGE) || body.equals(newer)).toBe(true);
      expect((await bodyIn(rig))?.equals(newer)).toBe(true);
    }));
});

describe('a piece', () => {
  it('that is lost makes its entry absent, and an entry as new may be written again', () =>
    withCache(async (rig) => {
      await rig.cache.write([large({ version: 2 })]);
      const [, second] = piecesIn(rig.environment);
      await rig.environment.write([{ key: second?.key as Buffer, value: null }]);
      expect(await bodyIn(rig)).toBe(null);
      await rig.cache.write([large({ version: 1 })]);
      expect((await bodyIn(rig))?.equals(LARGE)).toBe(true);
    }));

  it('that is shorter than it was makes its entry a damaged one', () =>
    withCache(async (rig) => {
      await rig.cache.write([large()]);
      const [first] = piecesIn(rig.environment);
      await rig.environment.write([{ key: first?.key as Buffer, value: Buffer.from('short') }]);
      expect((await rig.cache.read([idOf(0)]))[0]?.bytes).toHaveLength(0);
    }));
});

describe('a large body in the older generation', () => {
  it('is copied on, piece by piece, when it is read', () =>
    withCache(async (rig) => {
      await rig.cache.write([large()]);
      await rig.rotate();
      rig.transactions.length = 0;
      expect((await bodyIn(rig))?.equals(LARGE)).toBe(true);
      await expect.poll(rig.kinds).toBe(`${'b'.repeat(12)}w`);
      expect(Math.max(...rig.transactions)).toBeLessThanOrEqual(MIB / 2);
      await rig.rotate();
      expect((await bodyIn(rig))?.equals(LARGE)).toBe(true);
    }));
});
