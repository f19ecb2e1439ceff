/**
 * Whatever happens, in whatever order, history says what was known and when: each exact day of each answer from it is
 * what an oracle has noted, which looks at nothing but what the platform was asked and said.
 *
 * `MODEL_RUNS=300 npx vitest run test/engine/history/history-model.test.ts` looks further, at other
 * runs each time; a failure prints seed and path.
 */
import fc, { type AsyncCommand } from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type RedisServer, startRedis } from '../../support/redis.js';
import { runs } from '../../support/runs.js';
import { createTestClock } from '../../support/test-clock.js';
import { historyCommands } from './commands.js';
import { startGateways } from './gateways.js';
import { createOracle } from './oracle.js';
import { checkPins } from './pins.js';
import { startRestatingPlatform } from './platform.js';
import { RESTATEMENT_DAYS, rest, type World } from './world.js';

const RUNS = Number(process.env.MODEL_RUNS ?? 0);
const MAX_COMMANDS = 40;
/** Of the usual runs, which are always the same. */
const SEED = 20_261_110;

const settings = fc.record({
  timezone: fc.constantFrom('UTC', 'America/New_York', 'Pacific/Auckland'),
  mode: fc.constantFrom('observe' as const, 'learned' as const),
  curve: fc.array(fc.integer({ min: 10, max: 100 }), { minLength: 1, maxLength: 9 }),
  mergeGapDays: fc.constantFrom(0, 2, 7),
});

type Settings = typeof settings extends fc.Arbitrary<infer T> ? T : never;

async function play(
  { timezone, mode, curve, mergeGapDays }: Settings,
  plays: Iterable<AsyncCommand<object, World>>,
  redis: RedisServer | undefined,
): Promise<void> {
  const clock = createTestClock('2026-11-10T02:00:00.500Z');
  const platform = await startRestatingPlatform({ clock, timezone, curve });
  const gateways = await startGateways({
    platform,
    clock,
    redis,
    config: {
      platform: { timezone },
      report: {
        restatementDays: RESTATEMENT_DAYS,
        mergeGapDays,
        endpoints: { 'campaigns/get': { divisible: 'always' } },
      },
      finality: { mode },
    },
  });
  try {
    const scopes = ['report:read', 'report:pin', 'cache:refresh'];
    const keys = {
      all: await gateways.at(0).addTeam({ scopes }),
      one: await gateways.at(0).addTeam({ scopes, advertisers: [1] }),
    };
    await gateways.agreed();
    const oracle = createOracle(timezone, gateways.count);
    const world: World = {
      clock,
      platform,
      gateways,
      oracle,
      timezone,
      mode,
      keys,
      revisions: new Map(),
      pins: [],
      asked: [],
    };
    await fc.asyncModelRun(() => ({ model: {}, real: world }), plays);
    gateways.outage.away = false;
    await rest(world);
    await checkPins(0, world);
  } finally {
    await gateways.close();
  }
}

describe('whatever happens, history is true', { timeout: 3_600_000 }, () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.close());

  async function check(
    usual: { readonly numRuns: number },
    shared: () => RedisServer | undefined,
  ): Promise<void> {
    const property = fc.asyncProperty(settings, historyCommands(MAX_COMMANDS), (how, plays) =>
      play(how, plays, shared()),
    );
    await fc.assert(property, RUNS > 0 ? { numRuns: RUNS } : { ...usual, seed: SEED });
  }

  it('of one gateway', () => check(runs(2, 7), () => undefined));

  it('of three replicas on one Redis', () => check(runs(1, 4), () => redis));
});
