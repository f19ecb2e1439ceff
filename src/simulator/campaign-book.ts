import type { Advertiser } from './catalogue.js';
import { formatDay } from './days.js';

/** A campaign as its own endpoints show it. Members of created ones are what the creator sent. */
export interface CampaignRecord {
  readonly id: number;
  readonly userId: number;
  readonly [member: string]: unknown;
}

/** The account's campaigns: those of the catalogue, and those created since the start. */
export interface CampaignBook {
  /** Every call creates another campaign. @returns its id */
  create(userId: number, members: Readonly<Record<string, unknown>>): number;
  find(id: number): CampaignRecord | undefined;
  /** In the order of creation. @param userId undefined: of all advertisers */
  list(userId: number | undefined): CampaignRecord[];
  /** @returns whether there was one */
  remove(id: number): boolean;
}

const FIRST_CREATED_ID = 100_001;

export function createCampaignBook(catalogue: ReadonlyMap<number, Advertiser>): CampaignBook {
  const records = new Map([...catalogue.values()].flatMap(recordsOf).map((record) => [record.id, record]));
  let nextId = FIRST_CREATED_ID;
  return {
    create(userId, members) {
      const id = nextId++;
      records.set(id, { ...members, id, userId });
      return id;
    },
    find: (id) => records.get(id),
    list: (userId) =>
      [...records.values()].filter((record) => userId === undefined || record.userId === userId),
    remove: (id) => records.delete(id),
  };
}

function recordsOf({ id: userId, campaigns }: Advertiser): CampaignRecord[] {
  return campaigns.map(({ id, name, from, to, cpm, dailyImpressions, creatives }) => {
    const daily = (Math.ceil((dailyImpressions * cpm) / 10_000_000) * 2).toFixed(4);
    return {
      id,
      userId,
      name,
      adDomain: `advertiser-${userId}.example`,
      clickUrl: `https://advertiser-${userId}.example/landing/${id}`,
      dates: { from: formatDay(from), to: formatDay(to) },
      country: 'DE',
      bid: (cpm / 10_000).toFixed(4),
      budget: { daily, total: (Number(daily) * (to - from + 1)).toFixed(4) },
      creativeSetIds: creatives.map((creative) => creative.id),
    };
  });
}
