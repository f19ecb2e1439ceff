/** What may happen in the model of history; each command tells in its name what it does. */
import fc, { type AsyncCommand } from 'fast-check';
import { createSweepDays } from '../../../src/reports/days/sweep.js';
import { createLog } from '../../../src/telemetry/logger.js';
import { daysOn } from '../../reports/history/on-disk.js';
import { DAY, HOUR, MINUTE, SECOND } from '../../support/test-clock.js';
import { waitFor } from '../../support/wait-for.js';
import { shiftDay } from '../world.js';
import { checkDiff } from './diffs.js';
import { checkPins, diffPin, expectErased, makePin, removePin } from './pins.js';
import { datesOf, VERSIONS } from './platform.js';
import { checkRevisions } from './revisions.js';
import { checkVintage } from './vintages.js';
import {
  type Asked,
  askNow,
  askThen,
  decide,
  type Moment,
  momentOf,
  type Question,
  report,
  rest,
  type World,
} from './world.js';

type Command = AsyncCommand<object, World>;

/** Whatever a command begins has come to rest before the next. */
const command = (text: string, run: (world: World) => Promise<void>): Command => ({
  check: () => true,
  async run(_model, world) {
    await run(world);
    await rest(world);
  },
  toString: () => text,
});

const question: fc.Arbitrary<Question> = fc
  .record({
    replica: fc.nat(2),
    advertiserId: fc.constantFrom(1, 1, 2),
    byCampaign: fc.boolean(),
    limited: fc.nat(5).map((chance) => chance === 5),
    range: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom<[number, number]>([6, 7], [3, 4], [13, 14], [0, 1]) },
      { weight: 1, arbitrary: fc.tuple(fc.nat(20), fc.integer({ min: 1, max: 14 })) },
    ),
  })
  .map(({ range: [ago, length], ...asked }) => ({ ...asked, ago, length: Math.min(length, ago + 2) }));

const show = ({ replica, advertiserId, byCampaign, limited, ago, length }: Question) =>
  `${replica}: ${limited ? 'limited, ' : ''}advertiser ${advertiserId}${byCampaign ? ' by campaign' : ''}, ${length} days from -${ago}`;

const moment: fc.Arbitrary<Moment> = fc.record({
  back: fc.nat(40),
  beside: fc.constantFrom(0, 0, -1, 1, 90_000),
});
const tell = ({ back, beside }: Moment) => `${back} moments back ${beside} ms`;

const step = fc.oneof(
  fc.constantFrom(4, 6, 59, 65).map((minutes) => minutes * MINUTE),
  fc.integer({ min: 2, max: 30 }).map((hours) => hours * HOUR),
  fc.integer({ min: 1, max: 9 }).map((days) => days * DAY),
);

/** A question, or one that was asked before, by its place from the end. */
type Which = { readonly fresh: Question } | { readonly earlier: number; readonly replica: number };

const which: fc.Arbitrary<Which> = fc.oneof(
  { weight: 1, arbitrary: question.map((fresh) => ({ fresh })) },
  { weight: 4, arbitrary: fc.record({ earlier: fc.nat(5), replica: fc.nat(2) }) },
);

const name = (one: Which) =>
  'fresh' in one ? show(one.fresh) : `${one.replica}: as ${one.earlier} questions before`;

function pick(one: Which, world: World): Asked {
  if ('fresh' in one) return decide(one.fresh, world);
  const { replica, earlier } = one;
  const found = world.asked[world.asked.length - 1 - (earlier % Math.max(1, world.asked.length))];
  return found === undefined ? decide({ ...ANY, replica }, world) : { ...found, replica };
}

const ANY: Question = { replica: 0, advertiserId: 1, byCampaign: false, limited: false, ago: 6, length: 7 };

const directive = fc.constantFrom(null, null, 'no-cache', 'max-age=60');

const asking = fc
  .tuple(which, directive)
  .map(([one, directives]) =>
    command(`ask(${name(one)}${directives === null ? '' : `, ${directives}`})`, (world) =>
      askNow(pick(one, world), world, directives),
    ),
  );

interface Visit {
  readonly ms: number;
  readonly version: number | null;
  readonly directives: string | null;
  readonly when: Moment;
  readonly replica: number;
  /** The store of days is away while it is asked. */
  readonly away: boolean;
}

const visit: fc.Arbitrary<Visit> = fc.record({
  ms: step,
  version: fc.option(fc.nat(VERSIONS - 1)),
  directives: directive,
  when: moment,
  replica: fc.nat(2),
  away: fc.nat(5).map((chance) => chance === 5),
});

/** The same report again and again, while the platform changes it; and what it was at any time meanwhile. */
const revisiting = fc
  .tuple(which, fc.array(visit, { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([one, visits, isPinned]) =>
    command(
      `revisit(${name(one)}${isPinned ? ', pinned' : ''}, ${visits.map(tellVisit).join(' | ')})`,
      async (world) => {
        const { clock, platform, gateways } = world;
        const asked = { ...pick(one, world), limited: false };
        await askNow(asked, world, null);
        if (isPinned) await makePin(asked, null, world);
        for (const { ms, version, directives, when, replica, away } of visits) {
          await rest(world);
          clock.advance(ms);
          if (version !== null) platform.restate(asked.advertiserId, datesOf(asked.from, asked.to), version);
          const before = gateways.outage.away;
          gateways.outage.away ||= away;
          await askNow({ ...asked, replica }, world, directives);
          await rest(world);
          gateways.outage.away = before;
          await askThen({ ...asked, replica }, world, momentOf(when, world));
        }
        await checkPins(0, world);
      },
    ),
  );

function tellVisit({ ms, version, directives, when, replica, away }: Visit): string {
  const restated = version === null ? '' : `, restated to ${version}`;
  const how = `${directives ?? 'plain'}${away ? ', without days' : ''}`;
  return `after ${ms / SECOND} s${restated}, from ${replica} (${how}), then ${tell(when)}`;
}

const askingThen = fc.tuple(which, moment).map(([one, when]) =>
  command(`asOf(${name(one)}, ${tell(when)})`, async (world) => {
    await askThen(pick(one, world), world, momentOf(when, world));
  }),
);

const askingVintage = fc
  .tuple(which, fc.constantFrom('first' as const, 'final' as const))
  .map(([one, vintage]) =>
    command(`vintage(${name(one)}, ${vintage})`, async (world) => {
      // Which window a day was final by is not told apart here.
      if (vintage === 'first' || world.mode === 'observe')
        await checkVintage(pick(one, world), vintage, world);
    }),
  );

const diffing = fc.tuple(which, moment, moment).map(([one, from, to]) =>
  command(`diff(${name(one)}, ${tell(from)}, ${tell(to)})`, async (world) => {
    const asked = pick(one, world);
    const [a = 0, b = 0] = [momentOf(from, world), momentOf(to, world)].toSorted((x, y) => x - y);
    const sides = [await askThen(asked, world, a), await askThen(asked, world, b)] as const;
    const [start, end] = [new Date(a).toISOString(), new Date(b).toISOString()];
    await checkDiff(asked, { from: start, to: end }, sides, world);
    await checkDiff(asked, { from: start, to: start }, [sides[0], sides[0]], world);
  }),
);

const listing = which.map((one) =>
  command(`revisions(${name(one)})`, (world) => checkRevisions(pick(one, world), world)),
);

const pinning = fc
  .tuple(which, fc.option(moment))
  .map(([one, when]) =>
    command(`pin(${name(one)}, ${when === null ? 'now' : tell(when)})`, (world) =>
      makePin(pick(one, world), when === null ? null : momentOf(when, world), world),
    ),
  );

const unpinning = fc
  .tuple(fc.nat(3), fc.nat(2))
  .map(([which, replica]) =>
    command(`unpin(${replica}: ${which})`, (world) => removePin(which, replica, world)),
  );

const readingPins = fc.tuple(fc.nat(3), fc.nat(2)).map(([which, replica]) =>
  command(`pins(${replica}), diff of pin ${which}`, async (world) => {
    await checkPins(replica, world);
    await diffPin(which, world);
  }),
);

const moving = step.map((ms) => command(`move(${ms / SECOND} s)`, async ({ clock }) => clock.advance(ms)));

const span = fc.record({
  advertiserId: fc.constantFrom(1, 1, 2),
  ago: fc.integer({ min: -1, max: 20 }),
  length: fc.integer({ min: 1, max: 9 }),
});

const daysOf = ({ ago, length }: Pick<Question, 'ago' | 'length'>, world: World) => {
  const { from, to } = decide({ ago, length } as Question, world);
  return datesOf(from, to);
};

const restating = fc
  .tuple(span, fc.nat(VERSIONS - 1))
  .map(([what, version]) =>
    command(
      `restate(advertiser ${what.advertiserId}, ${what.length} days from -${what.ago}, to ${version})`,
      async (world) => world.platform.restate(what.advertiserId, daysOf(what, world), version),
    ),
  );

/** The same day again and again, each time with other rows. */
const churning = fc.tuple(fc.constantFrom(2, 5, 70), question).map(([times, one]) =>
  command(`churn(${times} times, ${show(one)})`, async (world) => {
    const asked = decide({ ...one, limited: false, length: 1 }, world);
    for (let time = 0; time < times; time += 1) {
      world.platform.restate(asked.advertiserId, [asked.from], time % 3);
      await report(asked, world, '', { 'cache-control': 'no-cache' });
      await rest(world);
    }
  }),
);

const changingWays = fc.constantFrom('column' as const, 'renamed' as const, 'reversed' as const).map((what) =>
  command(`other ${what}`, async ({ platform }) => {
    platform.ways[what] = !platform.ways[what];
  }),
);

const slowing = fc.constantFrom(0, 700).map((ms) =>
  command(`calls take ${ms} ms`, async ({ platform }) => {
    platform.latencyMs = ms;
  }),
);

const purging = fc.nat(2).map((replica) =>
  command(`purge(${replica})`, async (world) => {
    await world.gateways.at(replica).manage('POST', '/cache/purge', { all: true });
  }),
);

const daysGoing = fc.constantFrom(true, false, false).map((away) =>
  command(away ? 'days go' : 'days return', async ({ gateways }) => {
    gateways.outage.away = away;
  }),
);

async function erase(advertiserId: number, replica: number, world: World): Promise<void> {
  const { gateways, oracle, clock } = world;
  await gateways.at(replica).manage('POST', '/history/erase', { advertiserId });
  oracle.erase(advertiserId, clock.now());
  await gateways.agreed();
  await expectErased(advertiserId, world);
}

const erasing = fc.tuple(fc.nat(2), fc.constantFrom(1, 2), question).map(([replica, advertiserId, one]) =>
  command(`erase(${replica}: advertiser ${advertiserId}) then asOf(${show(one)})`, async (world) => {
    await erase(advertiserId, replica, world);
    const asked = decide({ ...one, advertiserId, limited: false }, world);
    await checkRevisions(asked, world);
    await askThen(asked, world, world.clock.now());
  }),
);

/** What was asked for before must not come back by being written down late. */
const erasingMeanwhile = fc.tuple(fc.nat(2), question).map(([replica, one]) =>
  command(`erase(${replica}) during(${show(one)})`, async (world) => {
    const { platform, clock } = world;
    const asked = decide({ ...one, limited: false }, world);
    platform.hold();
    const before = platform.came;
    let isOver = false;
    const asking = report(asked, world, '', { 'cache-control': 'no-cache' }).finally(() => {
      isOver = true;
    });
    await waitFor('a call', () => isOver || platform.came > before);
    clock.advance(1);
    await erase(asked.advertiserId, replica, world);
    clock.advance(1);
    platform.release();
    await asking;
    await rest(world);
    await checkRevisions(asked, world);
    await askThen(asked, world, clock.now());
  }),
);

const sweeping = fc.constantFrom(20, 40).map((retentionDays) =>
  command(`sweep(${retentionDays} days)`, async (world) => {
    const { gateways, clock, oracle } = world;
    if (gateways.outage.away) return;
    const { store } = gateways.at(0);
    const sweep = createSweepDays({
      days: daysOn(store.days),
      retentionDays,
      clock,
      logger: SILENT,
      maxBytes: Number.POSITIVE_INFINITY,
      currentMaxBytes: Number.POSITIVE_INFINITY,
    });
    await sweep(() => false);
    oracle.sweep(shiftDay(new Date(clock.now()).toISOString().slice(0, 10), -retentionDays).slice(0, 7));
  }),
);

const { logger: SILENT } = createLog({ level: 'silent', stream: { write: () => {} }, secrets: () => [] });

const restarting = fc.nat(2).map((replica) =>
  command(`restart(${replica})`, async (world) => {
    await world.gateways.restart(replica);
    world.oracle.forgetMissed();
  }),
);

export const historyCommands = (maxCommands: number) =>
  fc.commands(
    [
      ...[asking, asking, asking, asking, revisiting, revisiting, revisiting, revisiting, revisiting],
      ...[
        askingThen,
        askingThen,
        askingThen,
        askingVintage,
        askingVintage,
        diffing,
        diffing,
        diffing,
        listing,
      ],
      ...[moving, moving, moving, restating, restating, restating, churning, changingWays, slowing, purging],
      ...[pinning, pinning, unpinning, readingPins, readingPins, daysGoing],
      ...[erasing, erasingMeanwhile, sweeping, restarting],
    ],
    { maxCommands, size: 'max' },
  );
