/**
 * Three gateways in virtual time, with faults, by seed: see docs/hardening.md. `SEED=7` plays one again, `SEEDS=200` plays
 * as many.
 */
import { describe, expect, it } from 'vitest';
import { type PlayOptions, playSeed } from './play-seed.js';
import regressionSeeds from './regression-seeds.json' with { type: 'json' };

/** As many as `npm test` has time for; `npm run test:all` plays 200. */
const { SEED, SEEDS = '12', BY_FASTIFY } = process.env;
const inTurn = Array.from({ length: Number(SEEDS) }, (_, at) => at + 1);
const always = regressionSeeds.map(({ seed }) => seed);
/** Of either way in. */
const TWICE = [1, 2];
const once = [...new Set([...always, ...inTurn])].filter((seed) => !TWICE.includes(seed));
const seeds = SEED === undefined ? once : [Number(SEED)];
const way: PlayOptions = BY_FASTIFY === undefined ? {} : { byFastify: BY_FASTIFY === '1' };

async function traceOf(seed: number, options?: PlayOptions): Promise<readonly string[]> {
  const { failures, counts, trace } = await playSeed(seed, options);
  expect(failures).toEqual([]);
  expect(counts.get('200')).toBeGreaterThan(0);
  return trace;
}

describe('three gateways, simulated', () => {
  it.each(seeds)(
    'answer right, keep what they acknowledge, and leave nothing behind: seed %i',
    async (seed) => void (await traceOf(seed, way)),
  );

  it.each(TWICE)('do the same with the same seed, twice: seed %i', async (seed) => {
    const [trace, again] = [await traceOf(seed), await traceOf(seed)];
    const firstOther = trace.findIndex((line, at) => line !== again[at]);
    expect(again[firstOther]).toBe(trace[firstOther]);
    expect(again.length).toBe(trace.length);
    expect(trace.length).toBeGreaterThan(1000);
  });
});
