/**
 * Whatever happens, in whatever order: each day of each answer is the platform's own for that day at that day's
 * fetch time, no older than it may be, never older than a purge, and the answer says truly what it is.
 *
 * `MODEL_RUNS=1000 npx vitest run test/engine/model.test.ts` runs it longer; a failure prints seed and path.
 */
import fc, { type AsyncCommand } from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { runs } from '../support/runs.js';
import { createTestClock, DAY, HOUR, MINUTE, SECOND } from '../support/test-clock.js';
import { startReplicas } from './replicas.js';
import { ask, dayOf, type Purge, type Question, shiftDay, type World } from './world.js';

const RUNS = Number(process.env.MODEL_RUNS ?? 0);
const MAX_COMMANDS = 40;

/** All runs are made. This is many times what they take, and no pass: who gets there has hung, and fails. */
const LIMIT_MS = 600_000;

type Command = AsyncCommand<object, World>;

const command = (text: string, run: (world: World) => Promise<void>): Command => ({
  check: () => true,
  run: (_model, world) => run(world),
  toString: () => text,
});

/** Waits for all of them, also when one fails, so that nothing runs on into the next command. */
async function everyOne(all: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(all);
  await Promise.all(all);
}

const question = (): fc.Arbitrary<Question> =>
  fc
    .record({
      replica: fc.nat(2),
      advertiserId: fc.constantFrom(1, 1, 1, 1, 2, 23),
      split: fc.constantFrom(
        'date',
        'date',
        'date',
        'date,campaign',
        'date,campaign',
        'date,local',
        'campaign',
      ),
      range: fc.oneof(
        { weight: 2, arbitrary: fc.constantFrom<[number, number]>([6, 7], [13, 14], [14, 12], [20, 14]) },
        { weight: 1, arbitrary: fc.tuple(fc.nat(20), fc.integer({ min: 1, max: 21 })) },
      ),
      format: fc.constantFrom<Question['format']>('json', 'json', 'json', 'csv', 'ndjson'),
      days: fc.boolean().map((plain) => !plain),
      totals: fc.nat(7).map((chance) => chance === 7),
      directives: fc.oneof(
        { weight: 7, arbitrary: fc.constant(null) },
        {
          weight: 3,
          arbitrary: fc.constantFrom('no-cache', 'max-age=60', 'max-stale=1000000', 'only-if-cached'),
        },
      ),
    })
    .map(({ split, range: [ago, length], totals, days, ...rest }) => ({
      ...rest,
      days: days || totals,
      totals,
      ago,
      // Today is often the last day, and now and then a day to come.
      length: Math.min(length, ago + 2),
      byDate: split.includes('date'),
      byCampaign: split.includes('campaign'),
      local: split.includes('local'),
    }));

const show = ({ replica, advertiserId, ago, length, format, ...rest }: Question) =>
  `${replica}:${advertiserId} -${ago}d+${length} ${format}${rest.byDate ? ' date' : ''}${rest.byCampaign ? ' campaign' : ''}${rest.local ? ' local' : ''}${rest.days ? ' days' : ''}${rest.totals ? ' totals' : ''}${rest.directives === null ? '' : ` ${rest.directives}`}`;

const asking = question().map((one) => command(`ask(${show(one)})`, (world) => ask(one, world)));

const askingAtOnce = fc.array(question(), { minLength: 2, maxLength: 6 }).map((all) =>
  command(`at once(${all.map(show).join(' | ')})`, async (world) => {
    await everyOne(all.map((one) => ask(one, world)));
  }),
);

/** The same report, everywhere at once. */
const askingAlike = question().map((one) =>
  command(`alike(${show(one)})`, async (world) => {
    await everyOne([0, 1, 2, 0, 1, 2].map((replica) => ask({ ...one, replica }, world)));
  }),
);

/** A dashboard: the same days, shifted; it is from these that the gateway learns. */
const askingShifted = fc.tuple(question(), fc.integer({ min: 1, max: 4 })).map(([one, by]) =>
  command(`shifted(${show(one)} by ${by})`, async (world) => {
    const base = { ...one, byDate: true, directives: null };
    for (const ago of [20, 20 - by, 20 - 2 * by]) {
      await ask({ ...base, ago, length: Math.max(one.length, 8) }, world);
      await world.replicas.settled();
    }
  }),
);

/** Around the ends of freshness and of what may be given behind it, and anywhere. */
const step = fc.oneof(
  fc.constantFrom(4, 6, 14, 16, 59, 65, 75).map((minutes) => minutes * MINUTE),
  fc.integer({ min: 1, max: 90 * 60 }).map((seconds) => seconds * SECOND),
  fc.integer({ min: 2, max: 30 }).map((hours) => hours * HOUR),
  fc.integer({ min: 1, max: 9 }).map((days) => days * DAY),
);

const moving = step.map((ms) =>
  command(`move(${ms / SECOND}s)`, async ({ replicas }) => {
    await replicas.settled();
    replicas.clock.advance(ms);
  }),
);

function fail(world: World, period: { from?: string; to?: string } = {}): void {
  world.simulator.clearFaults();
  world.simulator.fault({ kind: 'status', status: 500, times: 0, path: '/report/', ...period });
  world.failing = true;
}

function mend(world: World): void {
  world.simulator.clearFaults();
  world.failing = false;
}

/** The same report again later, by whoever; the platform may be down by then. */
const revisiting = fc
  .tuple(question(), fc.array(fc.tuple(step, fc.nat(2), fc.nat(3)), { minLength: 1, maxLength: 3 }))
  .map(([one, visits]) =>
    command(`revisit(${show(one)} after ${JSON.stringify(visits)})`, async (world) => {
      mend(world);
      await ask(one, world);
      for (const [ms, replica, chance] of visits) {
        await world.replicas.settled();
        world.replicas.clock.advance(ms);
        if (chance === 0) fail(world);
        await ask({ ...one, replica }, world);
        mend(world);
        await ask({ ...one, replica, format: 'json' }, world);
      }
    }),
  );

const span = fc.record(
  {
    advertiserId: fc.constantFrom(1, 2),
    ago: fc.integer({ min: -1, max: 20 }),
    length: fc.integer({ min: 1, max: 9 }),
  },
  { requiredKeys: [] },
);

type SpanOfDays = Readonly<{ advertiserId?: number; ago?: number; length?: number }>;

function scopeOf({ advertiserId, ago, length }: SpanOfDays, world: World) {
  const today = dayOf(world.replicas.clock.now(), world.timezone);
  const from = ago === undefined ? undefined : shiftDay(today, -ago);
  return {
    ...(advertiserId === undefined ? {} : { advertiserId }),
    ...(from === undefined ? {} : { from }),
    ...(from === undefined || length === undefined ? {} : { to: shiftDay(from, length - 1) }),
  };
}

const restating = span.map((what) =>
  command(`restate(${JSON.stringify(what)})`, async (world) => {
    await world.replicas.settled();
    world.replicas.clock.advance(1);
    world.simulator.restate(scopeOf(what, world));
  }),
);

async function purge(
  scope: Omit<Purge, 'atMs'>,
  replica: number,
  { replicas, purges }: World,
): Promise<void> {
  const gateway = replicas.all[replica % replicas.all.length] as (typeof replicas.all)[0];
  const body = Object.keys(scope).length === 0 ? { all: true } : scope;
  if (replicas.outage.away) {
    await expect(gateway.manage('POST', '/cache/purge', body)).rejects.toThrow('503');
    return;
  }
  await gateway.manage('POST', '/cache/purge', body);
  const { seq } = gateway.services.purges;
  for (const { services } of replicas.all) {
    if (services.purges.seq < seq) await services.registry.refresh();
  }
  purges.push({ ...scope, atMs: replicas.clock.now() });
}

const purging = fc.tuple(span, fc.nat(2)).map(([what, replica]) =>
  command(`purge(${replica}:${JSON.stringify(what)})`, async (world) => {
    await world.replicas.settled();
    world.replicas.clock.advance(1);
    await purge(scopeOf(what, world), replica, world);
    world.replicas.clock.advance(1);
  }),
);

const purgingMeanwhile = fc
  .tuple(span, fc.nat(2), fc.array(question(), { minLength: 1, maxLength: 4 }))
  .map(([what, replica, all]) =>
    command(
      `purge(${replica}:${JSON.stringify(what)}) during(${all.map(show).join(' | ')})`,
      async (world) => {
        await world.replicas.settled();
        const asked = all.map((one) => ask(one, world));
        await purge(scopeOf(what, world), replica, world);
        await everyOne(asked);
        await world.replicas.settled();
        world.replicas.clock.advance(1);
      },
    ),
  );

const failing = fc
  .option(fc.record({ ago: fc.integer({ min: 0, max: 20 }), length: fc.integer({ min: 1, max: 4 }) }))
  .map((days) =>
    command(`platform fails(${JSON.stringify(days)})`, async (world) => {
      fail(world, days === null ? {} : scopeOf(days, world));
    }),
  );

const mending = fc.constant(command('platform is well', async (world) => mend(world)));

const storeGoing = fc.constantFrom(true, false, false).map((away) =>
  command(away ? 'store goes' : 'store returns', async ({ replicas }) => {
    replicas.outage.away = away;
    if (!away) for (const { services } of replicas.all) await services.registry.refresh();
  }),
);

const evicting = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.nat(4)).map(([every, first]) =>
  command(`evict(${first}+${every}n)`, async ({ replicas }) => {
    const entries = [...replicas.written].filter((_, index) => index % every === first % every);
    const [gateway] = replicas.all;
    const nothing = { bytes: Buffer.alloc(0), ttlMs: 0 };
    for (const [id, version] of entries) await gateway?.store.cache.write([{ id, version, ...nothing }]);
  }),
);

const commands = fc.commands(
  [
    asking,
    asking,
    revisiting,
    revisiting,
    revisiting,
    askingAtOnce,
    askingAlike,
    askingShifted,
    moving,
    moving,
    restating,
    purging,
    purgingMeanwhile,
    failing,
    mending,
    mending,
    storeGoing,
    evicting,
  ],
  { maxCommands: MAX_COMMANDS, size: 'max' },
);

const settings = fc.record({
  timezone: fc.constantFrom('UTC', 'America/New_York', 'Pacific/Auckland'),
  divisible: fc.constantFrom('auto', 'always'),
  mergeGapDays: fc.constantFrom(0, 2, 7),
  maxDaysPerCall: fc.constantFrom(3, 92),
});

async function play(
  {
    timezone,
    divisible,
    ...plan
  }: { timezone: string; divisible: string; mergeGapDays: number; maxDaysPerCall: number },
  plays: Iterable<Command>,
  on: { readonly redis?: RedisServer; readonly count: number },
): Promise<void> {
  // The clocks of New York change in this night.
  const clock = createTestClock('2026-11-01T02:00:00.500Z');
  const simulator = await startSimulator({ clock, switches: { rateLimitPerMinute: 0, timezone } });
  const replicas = await startReplicas({
    platform: simulator,
    clock,
    config: {
      // It is left alone in real time, which does not pass here.
      platform: { timezone, retry: { attempts: 0 }, circuit: { failures: 1_000 } },
      report: { ...plan, crossCheckEvery: 3, endpoints: { 'campaigns/get': { divisible } } },
    },
    ...on,
  });
  try {
    await fc.asyncModelRun(() => {
      const world: World = { simulator, replicas, timezone, purges: [], failing: false };
      return { model: {}, real: world };
    }, plays);
    await replicas.settled();
    // A platform whose answers may be split was never taken for another.
    for (const { logText } of replicas.all) expect(logText).not.toContain('cannot be split by day');
  } finally {
    await replicas.close();
    await simulator.close();
  }
}

describe('whatever happens, answers are true', { timeout: 3_600_000 }, () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.close());

  async function check(
    usual: { readonly numRuns: number },
    on: (() => RedisServer) | null,
    count = 3,
  ): Promise<void> {
    const property = fc.asyncProperty(settings, commands, (how, plays) =>
      play(how, plays, { ...(on === null ? {} : { redis: on() }), count }),
    );
    await fc.assert(property, {
      ...(RUNS > 0 ? { numRuns: RUNS } : usual),
      ...(RUNS > 0 ? {} : { interruptAfterTimeLimit: LIMIT_MS, markInterruptAsFailure: true }),
    });
  }

  it('of one gateway', () => check(runs(4, 8), null, 1));

  it('of three replicas', () => check(runs(3, 8), null));

  it('of three replicas on one Redis', () => check(runs(1, 5), () => redis));
});
