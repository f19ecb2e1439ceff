import { countPeople, type Run, reachedOn } from './audience.js';
import type { Advertiser, Campaign } from './catalogue.js';
import { formatDay } from './days.js';
import { deliveryOf, type World } from './delivery.js';

/** A query with day numbers and all defaults. */
export interface ReportQuery {
  /** Undefined: all children of the account. */
  readonly advertiserIds: readonly number[] | undefined;
  readonly from: number;
  readonly to: number;
  readonly byDate: boolean;
  readonly byCampaign: boolean;
  readonly spentBased: 'usd' | 'local';
  /** Undefined: all campaigns. */
  readonly campaignIds: readonly number[] | undefined;
}

/** A row of the campaign report, before switches change its names or values. */
export interface TruthRow {
  /** `YYYY-MM-DD`, in a report by date. */
  readonly date?: string;
  /** In a report by campaign. */
  readonly campaignId?: number;
  readonly campaignName?: string;
  readonly advertiserId: number;
  /** ISO 4217, of `spent`. */
  readonly currency: string;
  readonly impressions: number;
  readonly clicks: number;
  /** In units of `currency`, with at most four decimal places. */
  readonly spent: number;
  /** Distinct people; not a sum of other rows. */
  readonly reach: number;
  /** Absent in older versions of the platform. */
  readonly viewableImpressions?: number;
}

/** A row of the creative report, which has no reach. */
export interface CreativeRow extends Omit<TruthRow, 'reach' | 'campaignName' | 'viewableImpressions'> {
  readonly creativeId: number;
  readonly creativeName: string;
}

export interface Source {
  readonly catalogue: ReadonlyMap<number, Advertiser>;
  readonly world: World;
  /** Day numbers without rows. */
  readonly emptyDays: ReadonlySet<number>;
  /** Rows have `viewableImpressions`. */
  readonly tellsViewable: boolean;
  /** Each advertiser's first campaign has its later name. */
  readonly renamed: boolean;
}

/**
 * The correct campaign report, ordered by date, advertiser and campaign. Split reports have rows only for deliveries; the
 * unsplit one has a row per advertiser.
 */
export function reportRows(source: Source, query: ReportQuery): TruthRow[] {
  const scope = scopeOf(source.catalogue, query);
  if (!query.byDate) return periodRows(source, query, scope, query.from, query.to);
  const rows: TruthRow[] = [];
  const [first, last] = daysOf(scope, query, source.world);
  for (let day = first; day <= last; day++) {
    const date = formatDay(day);
    for (const row of periodRows(source, query, scope, day, day)) rows.push({ date, ...row });
  }
  return rows;
}

/** The creative report: figures of campaigns, divided among their creatives. */
export function creativeRows(source: Source, query: ReportQuery): CreativeRow[] {
  return reportRows(source, { ...query, byCampaign: true }).flatMap(
    ({ reach: _, viewableImpressions: __, campaignName, ...row }) => {
      const campaigns = source.catalogue.get(row.advertiserId)?.campaigns ?? [];
      const creatives = campaigns.find(({ id }) => id === row.campaignId)?.creatives ?? [];
      return creatives.map(({ id, name, from, to }) => {
        const slice = (total: number) => Math.floor(total * to) - Math.floor(total * from);
        const [impressions, clicks] = [slice(row.impressions), slice(row.clicks)];
        const spent = slice(Math.round(row.spent * 10_000)) / 10_000;
        return { ...row, creativeId: id, creativeName: name, impressions, clicks, spent };
      });
    },
  );
}

type Scope = readonly { readonly advertiser: Advertiser; readonly campaigns: readonly Campaign[] }[];

function scopeOf(catalogue: ReadonlyMap<number, Advertiser>, query: ReportQuery): Scope {
  const { advertiserIds, campaignIds } = query;
  const asked = advertiserIds && new Set(advertiserIds);
  const scope = [...catalogue.values()]
    .filter(({ id }) => !asked || asked.has(id))
    .map((advertiser) => ({
      advertiser,
      campaigns: advertiser.campaigns.filter(({ id }) => !campaignIds || campaignIds.includes(id)),
    }));
  // Campaigns without an advertiser select their advertisers; others have no row of zeros.
  return campaignIds && !asked ? scope.filter(({ campaigns }) => campaigns.length > 0) : scope;
}

/** First and last day that can have rows, so that a very long period is cheap. */
function daysOf(scope: Scope, query: ReportQuery, world: World): readonly [number, number] {
  const campaigns = scope.flatMap((entry) => entry.campaigns);
  const first = campaigns.reduce((day, { from }) => Math.min(day, from), Number.POSITIVE_INFINITY);
  return [Math.max(query.from, first), Math.min(query.to, world.moment.today)];
}

function periodRows(source: Source, query: ReportQuery, scope: Scope, from: number, to: number): TruthRow[] {
  const rows: TruthRow[] = [];
  const unsplit = !query.byDate && !query.byCampaign;
  for (const { advertiser, campaigns } of scope) {
    const { id: advertiserId, people } = advertiser;
    const { currency, rate } = query.spentBased === 'local' ? advertiser : { currency: 'USD', rate: 1 };
    for (const group of query.byCampaign ? campaigns.map((campaign) => [campaign]) : [campaigns]) {
      const figures = sum(source, group, from, to, rate, people);
      if (figures.impressions === 0 && !unsplit) continue;
      const [campaign] = query.byCampaign ? group : [];
      const split = campaign
        ? { campaignId: campaign.id, campaignName: nameOf(campaign, advertiser, source.renamed) }
        : {};
      rows.push({ ...split, advertiserId, currency, ...figures });
    }
  }
  return rows;
}

function nameOf({ id, name }: Campaign, { campaigns }: Advertiser, renamed: boolean): string {
  return renamed && id === campaigns[0]?.id ? `${name} (new)` : name;
}

/** One row's figures: the sum of deliveries; each person counts once. */
function sum(
  { world, emptyDays, tellsViewable }: Source,
  campaigns: readonly Campaign[],
  from: number,
  to: number,
  rate: number,
  people: number,
) {
  let impressions = 0;
  let clicks = 0;
  let spent = 0;
  let viewableImpressions = 0;
  const reached: Run[] = [];
  for (const campaign of campaigns) {
    const last = Math.min(to, campaign.to, world.moment.today);
    for (let day = Math.max(from, campaign.from); day <= last; day++) {
      const delivery = emptyDays.has(day) ? undefined : deliveryOf(world, campaign, day);
      if (!delivery) continue;
      impressions += delivery.impressions;
      clicks += delivery.clicks;
      viewableImpressions += delivery.viewable;
      // Converted and rounded per campaign and day, so that every split has the same sum.
      spent += Math.round(delivery.spentUsd * rate);
      reached.push(...reachedOn(world.seed, campaign, day, delivery.impressions, people));
    }
  }
  const figures = { impressions, clicks, spent: spent / 10_000, reach: countPeople(reached) };
  return tellsViewable ? { ...figures, viewableImpressions } : figures;
}
