/**
 * Whatever was asked in whatever order, a gateway has one current state of a day: every format, every range and every
 * replica says the same of it.
 *
 * `MODEL_RUNS=500 npx vitest run test/engine/one-state.test.ts` runs it longer; a failure prints seed and path.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { turn } from '../../src/lib/time.js';
import { daysBetween } from '../../src/reports/query/days.js';
import { ALWAYS, byDay } from '../reports/fetch/by-day.js';
import { prove } from '../support/prove.js';
import { runs } from '../support/runs.js';
import { spentIn, startSpending } from '../support/spending.js';
import { reportIn, startGatewayAt, type TestGateway } from '../support/start-gateway.js';
import { HOUR, MINUTE, SECOND } from '../support/test-clock.js';
import { shiftDay } from './world.js';

const RUNS = Number(process.env.MODEL_RUNS ?? 0) || runs(4, 12).numRuns;
const FIRST = '2026-11-06';
const DAYS = 12;

const FORMS = ['', '&_format=csv', '&_format=ndjson', '&_days=1', '&_fields=date,advertiserId,spent'];

interface Range {
  readonly first: number;
  readonly length: number;
}

const range = fc.record({ first: fc.nat(DAYS - 1), length: fc.integer({ min: 1, max: 6 }) });
const replica = fc.nat(1);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('ask' as const), range, replica, form: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('refresh' as const), range, replica }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('total' as const), range, replica }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restate' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.constantFrom(SECOND, 4 * MINUTE, 50 * MINUTE, 30 * HOUR),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const datesOf = ({ first, length }: Range): [from: string, to: string] => [
  shiftDay(FIRST, first),
  shiftDay(FIRST, Math.min(first + length, DAYS) - 1),
];

async function scene(config: object) {
  const { platform, said } = await startSpending();
  const first = await startGatewayAt(platform, {
    config: { ...config, platform: { retry: { attempts: 0 } } },
  });
  const second = await startGatewayAt(platform, {
    config: { ...config, platform: { retry: { attempts: 0 } } },
    sharedStore: first.store,
    clock: first.clock,
  });
  const key = await first.addTeam();
  const all = [first, second];
  const settled = async () => {
    for (const { services } of all) await services.settled();
    // What the store's bus tells comes in the next turn.
    await turn();
    for (const { services } of all) await services.registry.refresh();
  };
  return { said, clock: first.clock, key, all, settled };
}

type Scene = Awaited<ReturnType<typeof scene>>;

async function take({ said, clock, key, all, settled }: Scene, one: Step): Promise<void> {
  clock.advance(1);
  if (one.kind === 'restate') said.spent += 1;
  else if (one.kind === 'wait') clock.advance(one.ms);
  else {
    const gateway = all[one.replica] as TestGateway;
    const query = byDay(...datesOf(one.range));
    const headers = one.kind === 'refresh' ? { 'cache-control': 'no-cache' } : {};
    const form = one.kind === 'ask' ? (FORMS[one.form] as string) : one.kind === 'total' ? '&_totals=1' : '';
    const reply = await gateway.report(key, query + form, { headers });
    if (one.kind === 'total') expectSum(reportIn(reply));
  }
  await settled();
}

function expectSum({ data, meta }: ReturnType<typeof reportIn>): void {
  const sum = data.reduce((total, { spent }) => total + Number(spent), 0);
  const isTold = meta.warnings?.some(({ code }) => code === 'totals_differ') ?? false;
  expect([Number(meta.totals?.spent) !== sum, Number(meta.totals?.spent) < sum]).toEqual([isTold, false]);
}

/** What is said of each day by whatever is kept. */
async function runChecks({ key, all }: Scene, ranges: readonly Range[]): Promise<void> {
  const said = new Map<string, Set<number>>();
  const headers = { 'cache-control': 'only-if-cached' };
  for (const gateway of all)
    for (const one of ranges)
      for (const form of FORMS) {
        const dates = datesOf(one);
        const reply = await gateway.report(key, byDay(...dates) + form, { headers });
        if (reply.status !== 200) continue;
        for (const [at, spent] of spentIn(reply).entries()) {
          const date = daysBetween(...dates)[at] as string;
          said.set(date, (said.get(date) ?? new Set()).add(spent));
        }
      }
  expect([...said].filter(([, numbers]) => numbers.size > 1)).toEqual([]);
}

it.each<[string, object, (at: Scene) => Promise<unknown>]>([
  ['split from the first answer on', ALWAYS, async () => {}],
  ['that was learned', {}, ({ all, key }) => prove(all[0] as TestGateway, key, { last: '2026-11-14' })],
])('of a report %s', async (_what, config, begin) => {
  const steps = fc.array(step, { minLength: 4, maxLength: 14 });
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const at = await scene(config);
      try {
        await begin(at);
        await at.settled();
        const ranges = all.flatMap((one) => ('range' in one ? [one.range] : []));
        for (const one of all) {
          await take(at, one);
          await runChecks(at, ranges);
        }
      } finally {
        for (const gateway of at.all.toReversed()) await gateway.close();
      }
    }),
    { numRuns: RUNS },
  );
});
