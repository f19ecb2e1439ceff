import type { Advertiser } from './catalogue.js';
import { formatDay } from './days.js';

/** A campaign in its endpoints; created ones have the members of their request. */
interface CampaignRecord {
  readonly id: number;
  readonly userId: number;
  readonly [member: string]: unknown;
}

const FIRST_CREATED_ID = 100_001;

/** The account's campaigns: of the catalogue, and created ones. */
export function createCampaignBook(catalogue: ReadonlyMap<number, Advertiser>) {
  const records = new Map([...catalogue.values()].flatMap(recordsOf).map((record) => [record.id, record]));
  let nextId = FIRST_CREATED_ID;
  return {
    /** @returns the id of a new campaign */
    create(userId: number, members: Readonly<Record<string, unknown>>): number {
      const id = nextId++;
      records.set(id, { ...members, id, userId });
      return id;
    },
    find: (id: number) => records.get(id),
    /** In order of creation. @param userId undefined: all advertisers */
    list: (userId: number | undefined) =>
      [...records.values()].filter((record) => userId === undefined || record.userId === userId),
    /** @returns whether it existed */
    remove: (id: number) => records.delete(id),
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
