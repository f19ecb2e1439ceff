import fc from 'fast-check';
import { ADVERTISER_COUNT, buildCatalogue } from '../../src/simulator/catalogue.js';
import { type Completion, lastStepOf } from '../../src/simulator/completion.js';
import { momentAt, parseDay } from '../../src/simulator/days.js';
import type { Restatement } from '../../src/simulator/delivery.js';
import { type ReportQuery, reportRows, type Source, type TruthRow } from '../../src/simulator/truth.js';
import { NOON } from '../support/test-clock.js';

// Pure model, no server: the same functions that the HTTP answers are made from.
export const catalogues = new Map([1, 2, 77].map((seed) => [seed, buildCatalogue(seed)]));

export interface Setting {
  readonly seed: number;
  readonly at: number;
  readonly completion: Completion['kind'];
  readonly restateDays: number;
  readonly lateRows: number;
  readonly tellsViewable: boolean;
  readonly restatements: readonly Restatement[];
}

export const plain: Setting = {
  seed: 1,
  at: NOON,
  completion: 'linear',
  restateDays: 5,
  lateRows: 0,
  tellsViewable: false,
  restatements: [],
};

export function sourceAt(setting: Setting): Source {
  const { seed, at, completion, restateDays, lateRows, tellsViewable, restatements } = setting;
  const catalogue = catalogues.get(seed) ?? buildCatalogue(seed);
  const how = { kind: completion, restateDays };
  const world = { seed, completion: how, lateRows, restatements, moment: momentAt(at, 'UTC') };
  return { catalogue, world, emptyDays: new Set<number>(), tellsViewable, renamed: false };
}

/** How old, in days, an advertiser's days are when they have changed for the last time. */
export function settledAt({ seed, completion, restateDays, lateRows }: Setting, advertiser: number): number {
  const complete = completion === 'curves' ? lastStepOf(seed, advertiser) : restateDays + 1;
  return Math.max(complete, lateRows > 0 ? 6 : 0);
}

export const rowsAt = (setting: Setting, query: ReportQuery) => reportRows(sourceAt(setting), query);
export const dayOf = (text: string) => parseDay(text) ?? Number.NaN;
export const total = (rows: readonly { [Name in keyof TruthRow]?: unknown }[], member: keyof TruthRow) =>
  rows.reduce((sum, row) => sum + Number(row[member]), 0);
/** Money in whole 1/10000, so that comparisons are exact. */
export const money = (rows: readonly TruthRow[]) =>
  rows.reduce((sum, { spent }) => sum + Math.round(spent * 10_000), 0);
export const identity = ({ date, advertiserId, campaignId }: TruthRow) =>
  `${date} ${advertiserId} ${campaignId}`;

const settings: fc.Arbitrary<Setting> = fc.record({
  seed: fc.constantFrom(...catalogues.keys()),
  at: fc.integer({ min: Date.parse('2024-02-01'), max: Date.parse('2027-12-31') }),
  completion: fc.constantFrom('linear' as const, 'curves' as const),
  restateDays: fc.integer({ min: 0, max: 12 }),
  lateRows: fc.constantFrom(0, 0, 40, 100),
  tellsViewable: fc.boolean(),
  restatements: fc.constant([]),
});
const queries: fc.Arbitrary<ReportQuery> = fc
  .record({
    advertiser: fc.integer({ min: 1, max: ADVERTISER_COUNT }),
    from: fc.integer({ min: dayOf('2023-12-20'), max: dayOf('2027-12-31') }),
    length: fc.integer({ min: 1, max: 45 }),
    byDate: fc.boolean(),
    byCampaign: fc.boolean(),
    spentBased: fc.constantFrom('usd' as const, 'local' as const),
  })
  .map(({ advertiser, from, length, ...rest }) => {
    return { ...rest, advertiserIds: [advertiser], from, to: from + length - 1, campaignIds: undefined };
  });
/** A setting, and a query whose period reaches up to the days around its today. */
export const lately = fc
  .tuple(settings, queries, fc.integer({ min: -20, max: 3 }))
  .map(([setting, query, shift]) => {
    const to = momentAt(setting.at, 'UTC').today + shift;
    return [setting, { ...query, from: to - (query.to - query.from), to }] as const;
  });

/** The unsplit report of one advertiser; days as text. */
export function wholeOf(advertiser: number, from: string, to: string): ReportQuery {
  return {
    advertiserIds: [advertiser],
    from: dayOf(from),
    to: dayOf(to),
    byDate: false,
    byCampaign: false,
    spentBased: 'usd',
    campaignIds: undefined,
  };
}
