/**
 * Three gateways in virtual time, with faults, by seed: see docs/hardening.md. `SEED=7` plays one again, `SEEDS=200` plays
 * as many.
 */
import { describe, expect, it } from 'vitest';
import { type PlayOptions, playSeed } from './play-seed.js';
import regressionSeeds from './regression-seeds.json' with { type: 'json' };

/** As many as `npm test` has time for; `npm run test:all` plays 200. */
const SEEDS = Number(process.env.SEEDS ?? 60);
const { SEED, BY_FASTIFY } = process.env;
const inTurn = Array.from({ length: SEEDS }, (_, at) => at + 1);
const always = regressionSeeds.map(({ seed }) => seed);
const seeds = SEED === undefined ? [...new Set([...always, ...inTurn])] : [Number(SEED)];
const way: PlayOptions = BY_FASTIFY === undefined ? {} : { byFastify: BY_FASTIFY === '1' };

describe('three gateways, simulated', () => {
  it.each(seeds)(
    'answer right, keep what they acknowledge, and leave nothing behind: seed %i',
    async (seed) => {
      const { failures, counts } = await playSeed(seed, way);
      expect(failures).toEqual([]);
      expect(counts.get('200')).toBeGreaterThan(0);
    },
  );

  // Of either way in.
  it.each([1, 2])('do the same with the same seed, twice: seed %i', async (seed) => {
    const { trace } = await playSeed(seed);
    const { trace: again } = await playSeed(seed);
    const firstOther = trace.findIndex((line, at) => line !== again[at]);
    expect(again[firstOther]).toBe(trace[firstOther]);
    expect(again.length).toBe(trace.length);
    expect(trace.length).toBeGreaterThan(1000);
  });
});
