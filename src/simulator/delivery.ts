import type { Campaign } from './catalogue.js';
import { type Completion, completionOf } from './completion.js';
import { type Moment, weekday } from './days.js';
import { hash } from './hash.js';

/** A restatement: from `at` on, the numbers of these days are higher, for good. */
export interface Restatement {
  /** Milliseconds since the Unix epoch, in the simulator's time. */
  readonly at: number;
  /** Tells restatements of the same day apart. */
  readonly sequence: number;
  /** All advertisers when absent. */
  readonly advertiserId?: number;
  /** Day numbers, both included; open when absent. */
  readonly from?: number;
  readonly to?: number;
}

/** Everything that a number of the platform depends on, beside the question itself. */
export interface World {
  readonly seed: number;
  readonly moment: Moment;
  readonly completion: Completion;
  /** Percentage of campaigns' days that are not known of at first. */
  readonly lateRows: number;
  /** Those that have happened by the moment of the question. */
  readonly restatements: readonly Restatement[];
  /** Undefined: a day's numbers are its own. Else the asked period, which then changes every day's numbers. */
  readonly attributedTo?: { readonly from: number; readonly to: number };
}

/** What one campaign delivered on one day. Spend is in 1/10000 USD, so that sums are exact. */
export interface Delivery {
  readonly impressions: number;
  readonly clicks: number;
  readonly spentUsd: number;
  /** Impressions that could be seen. */
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
/** A late row appears so many days after its day at the latest. */
const LATEST_DAYS = 6;

/**
 * @param day a day of the campaign's flight, today at the latest
 * @returns undefined when the campaign delivered nothing that the platform knows of by now
 */
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

/** What was delivered, without what is said of it. */
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

/** How much of a day's final numbers is shown, in 1/10000. */
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

/** Whether a campaign's day has not come in yet, as a whole. */
function isLate({ seed, moment, lateRows }: World, campaignId: number, day: number): boolean {
  const chance = hash(seed, TOPIC.late, campaignId, day);
  return chance % 100 < lateRows && moment.today - day < 1 + ((chance >>> 8) % LATEST_DAYS);
}

/** Rounded down, so that it never falls while `share` rises and keeps "clicks ≤ impressions". */
function portion(value: number, share: number): number {
  return Math.floor((value * share) / 10_000);
}

/** Late data: one to eight per cent more, at least one impression more. */
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
