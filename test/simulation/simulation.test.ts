/**
 * Three gateways in virtual time, with faults, by seed: see docs/hardening.md. `SEED=7` plays one again, `SEEDS=200` plays
 * as many.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/load.js';
import { settings } from './replicas.js';
import { simulate } from './simulate.js';

/** As many as CI has time for. */
const SEEDS = Number(process.env.SEEDS ?? 8);
const seeds =
  process.env.SEED === undefined
    ? Array.from({ length: SEEDS }, (_, at) => at + 1)
    : [Number(process.env.SEED)];

let config: Config;
beforeAll(async () => {
  config = await settings();
});

describe('three gateways, simulated', () => {
  it.each(seeds)(
    'answer right, keep what they acknowledge, and leave nothing behind: seed %i',
    async (seed) => {
      const { counts } = await simulate(seed, config);
      expect(counts.get('200')).toBeGreaterThan(10);
    },
  );

  // Of either way in.
  it.each([1, 4])('do the same with the same seed, twice: seed %i', async (seed) => {
    const { hash, steps } = await simulate(seed, config);
    expect(await simulate(seed, config)).toMatchObject({ hash, steps });
  });
});
