import { parseDay } from './days.js';
import { hash } from './hash.js';

/** One child account of the parent account. */
export interface Advertiser {
  readonly id: number;
  /** ISO 4217. */
  readonly currency: string;
  /** Units of `currency` for one USD. */
  readonly rate: number;
  /** Number of reachable people. Advertisers share nobody. */
  readonly people: number;
  readonly campaigns: readonly Campaign[];
}

export interface Campaign {
  readonly id: number;
  readonly advertiserId: number;
  readonly name: string;
  /** First and last day of the flight, as day numbers. */
  readonly from: number;
  readonly to: number;
  /** Delivers on every day of its flight; others pause sometimes. */
  readonly evergreen: boolean;
  /** Impressions of an average day. */
  readonly dailyImpressions: number;
  /** Share of the weekly average for each weekday, Sunday first. */
  readonly rhythm: readonly number[];
  /** Clicks per million impressions. */
  readonly clickRate: number;
  /** USD per thousand impressions, in 1/10000 USD. */
  readonly cpm: number;
  /** Impressions for 100 people reached in a day; never below 100. */
  readonly frequency: number;
  /** Percentage of regulars among a day's people. */
  readonly regulars: number;
  readonly firstRegular: number;
  readonly creatives: readonly Creative[];
}

interface Creative {
  readonly id: number;
  readonly name: string;
  /** Its slice of the campaign's delivery, between 0 and 1. */
  readonly from: number;
  readonly to: number;
}

/** Children of the parent account: 1 … {@link ADVERTISER_COUNT}. */
export const ADVERTISER_COUNT = 40;

const TOPIC = { account: 1, campaigns: 2, flight: 3, delivery: 4, price: 5, audience: 6, creatives: 7 };
const MONEY: readonly (readonly [string, number])[] = [
  ['EUR', 0.92],
  ['GBP', 0.79],
  ['JPY', 151.4],
  ['USD', 1],
  ['PLN', 3.94],
  ['BRL', 5.65],
  ['INR', 84.1],
  ['TRY', 34.2],
  ['CAD', 1.38],
];
// Names that break careless CSV writers, headers or logs. Advertiser 1 has one of each.
const NAMES = [
  '=Brand + Search',
  'Spring Sale, "Early Bird"',
  'Été à Paris – vidéo',
  'Retargeting: basket & browse',
  '東京 プロスペクティング',
  'Prospecting 18-34',
  'Loyalty; members only',
  'Größe zählt – Über 50 %',
];
const OFFICE_HOURS = [0.55, 1.2, 1.25, 1.2, 1.15, 1.0, 0.65];
const LEISURE = [1.3, 0.85, 0.8, 0.85, 0.9, 1.05, 1.25];
const EPOCH = parseDay('2024-01-01') ?? 0;
const END = parseDay('2027-12-31') ?? 0;
const EVERGREEN_END = parseDay('2035-12-31') ?? 0;
/** Low ids have an evergreen campaign, so that today always has rows. */
const EVERGREEN_ADVERTISERS = 10;

export function buildCatalogue(seed: number): ReadonlyMap<number, Advertiser> {
  const ids = Array.from({ length: ADVERTISER_COUNT }, (_, index) => index + 1);
  return new Map(ids.map((id) => [id, buildAdvertiser(seed, id)]));
}

function buildAdvertiser(seed: number, id: number): Advertiser {
  const [currency, rate] = MONEY[(id - 1) % MONEY.length] ?? ['USD', 1];
  const people = 40_000 + (hash(seed, TOPIC.account, id) % 260_000);
  const count = 3 + (hash(seed, TOPIC.campaigns, id) % 6);
  const campaigns = Array.from({ length: count }, (_, index) => buildCampaign(seed, id, index, people));
  return { id, currency, rate, people, campaigns };
}

function buildCampaign(seed: number, advertiserId: number, index: number, people: number): Campaign {
  const id = advertiserId * 100 + index + 1;
  const evergreen = index === 0 && advertiserId <= EVERGREEN_ADVERTISERS;
  const flight = hash(seed, TOPIC.flight, id);
  const from = evergreen ? EPOCH : EPOCH + (flight % 1300);
  const size = (hash(seed, TOPIC.delivery, id) % 1000) / 1000;
  const price = hash(seed, TOPIC.price, id);
  const audience = hash(seed, TOPIC.audience, id);
  return {
    id,
    advertiserId,
    name: NAMES[(advertiserId - 1 + index) % NAMES.length] ?? '',
    from,
    to: evergreen ? EVERGREEN_END : Math.min(END, from + 21 + ((flight >>> 12) % 220)),
    evergreen,
    // Most campaigns are small, few are large.
    dailyImpressions: (evergreen ? 4_000 : 800) + Math.round(size * size * 60_000),
    rhythm: advertiserId % 2 === 0 ? OFFICE_HOURS : LEISURE,
    clickRate: 500 + (price % 11_500),
    cpm: 8_000 + ((price >>> 14) % 87_000),
    frequency: 110 + (audience % 240),
    regulars: 20 + ((audience >>> 8) % 50),
    // Close together, so that most regulars see several campaigns of the advertiser.
    firstRegular: (audience >>> 16) % Math.floor(people / 20),
    creatives: buildCreatives(seed, id),
  };
}

function buildCreatives(seed: number, campaignId: number): readonly Creative[] {
  const count = 2 + (hash(seed, TOPIC.creatives, campaignId) % 3);
  return Array.from({ length: count }, (_, index) => ({
    id: campaignId * 10 + index + 1,
    name: `Creative ${index + 1}, ${index % 2 === 0 ? '300x250' : '728x90'}`,
    // The first creative of n has 2/(n+1) of the delivery, the others share the rest.
    from: index === 0 ? 0 : (index + 1) / (count + 1),
    to: (index + 2) / (count + 1),
  }));
}
