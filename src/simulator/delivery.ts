import type { Campaign } from './catalogue.js';
import { type Completion, completionOf } from './completion.js';
import { type Moment, weekday } from './days.js';
import { hash } from './hash.js';

/** From `at` on, the numbers of these days are higher. */
export interface Restatement {
  /** Epoch milliseconds of the simulator's clock. */
  readonly at: number;
  /** Distinguishes restatements of the same day. */
  readonly sequence: number;
  /** All advertisers when absent. */
  readonly advertiserId?: number | undefined;
  /** Day numbers, both included; open when absent. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Everything but the query that numbers depend on. */
export interface World {
  readonly seed: number;
  readonly moment: Moment;
  readonly completion: Completion;
  /** Percentage of campaign days whose row appears late. */
  readonly lateRows: number;
  /** Restatements before the query. */
  readonly restatements: readonly Restatement[];
  /** The queried period, if it changes the numbers of its days. */
  readonly attributedTo?: { readonly from: number; readonly to: number };
}

/** Delivery of one campaign on one day. Spend in 1/10000 USD, for exact sums. */
export interface Delivery {
  readonly impressions: number;
  readonly clicks: number;
  readonly spentUsd: number;
  readonly viewable: number;
}

const TOPIC = {
  noise: 11,
  clicks: 12,
  price: 13,
  pause: 14,
  restatement: 15,
  attribution: 16,
  late: 17,
  viewable: 18,
};
/** Maximum delay of a late row, days. */
const LATEST_DAYS = 6;

/** @param day of the campaign's flight, today or earlier. @returns undefined: no delivery is known yet */
export function deliveryOf(world: World, campaign: Campaign, day: number): Delivery | undefined {
  const final = finalDelivery(world.seed, campaign, day);
  if (!final || isLate(world, campaign.id, day)) return undefined;
  const share = shareOf(world, campaign.advertiserId, day);
  const delivery = restate(world, campaign, day, {
    impressions: portion(final.impressions, share),
    clicks: portion(final.clicks, share),
    spentUsd: portion(final.spentUsd, share),
  });
  if (delivery.impressions === 0) return undefined;
  const seen = 4_000 + (hash(world.seed, TOPIC.viewable, campaign.id, day) % 5_000);
  return { ...delivery, viewable: portion(delivery.impressions, seen) };
}

type Figures = Omit<Delivery, 'viewable'>;

function finalDelivery(seed: number, campaign: Campaign, day: number): Figures | undefined {
  const { id, from, to } = campaign;
  if (!campaign.evergreen && hash(seed, TOPIC.pause, id, day) % 100 < 6) return undefined;
  const age = (day - from) / Math.max(1, to - from);
  const growth = 0.85 + 0.4 * age;
  const impressions = Math.round(
    campaign.dailyImpressions *
      (campaign.rhythm[weekday(day)] ?? 1) *
      growth *
      noise(hash(seed, TOPIC.noise, id, day)),
  );
  const clicks = (impressions * campaign.clickRate * noise(hash(seed, TOPIC.clicks, id, day))) / 1_000_000;
  const spentUsd = (impressions * campaign.cpm * noise(hash(seed, TOPIC.price, id, day))) / 1_000;
  return { impressions, clicks: Math.floor(clicks), spentUsd: Math.round(spentUsd) };
}

/** 0.75 … 1.25 */
function noise(chance: number): number {
  return 0.75 + (chance % 5_001) / 10_000;
}

/** The shown part of a day's final numbers, in 1/10000. */
function shareOf(
  { seed, moment, completion, attributedTo }: World,
  advertiserId: number,
  day: number,
): number {
  const known = completionOf(completion, seed, moment, advertiserId, day);
  if (!attributedTo) return known;
  const kept = 8_000 + (hash(seed, TOPIC.attribution, attributedTo.from, attributedTo.to) % 2_000);
  return portion(known, kept);
}

/** Whether the row of a campaign's day is still missing. */
function isLate({ seed, moment, lateRows }: World, campaignId: number, day: number): boolean {
  const chance = hash(seed, TOPIC.late, campaignId, day);
  return chance % 100 < lateRows && moment.today - day < 1 + ((chance >>> 8) % LATEST_DAYS);
}

/** Rounded down, so that it is monotonic and clicks stay below impressions. */
function portion(value: number, share: number): number {
  return Math.floor((value * share) / 10_000);
}

/** Adds 1 to 8 percent, at least one impression. */
function restate(world: World, campaign: Campaign, day: number, delivery: Figures): Figures {
  let { impressions, clicks, spentUsd } = delivery;
  for (const { sequence, advertiserId, from, to } of world.restatements) {
    const concerned =
      (advertiserId === undefined || advertiserId === campaign.advertiserId) &&
      (from === undefined || day >= from) &&
      (to === undefined || day <= to);
    if (!concerned || impressions === 0) continue;
    const percent = 1 + (hash(world.seed + sequence, TOPIC.restatement, campaign.id, day) % 8);
    impressions += Math.ceil((impressions * percent) / 100);
    clicks += Math.floor((clicks * percent) / 100);
    spentUsd += Math.floor((spentUsd * percent) / 100);
  }
  return { impressions, clicks, spentUsd };
}
