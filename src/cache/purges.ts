/**
 * Purges as a short list of records: an entry that was begun before a matching record counts as absent, in every
 * tier and for every kind of stale use. Nothing has to be found and deleted, so nothing can be missed.
 */
import type { Registry } from '../registry/mirror.js';
import { updateRecord } from '../registry/update-record.js';

const RECORD = 'purges';
/** Beyond it the oldest records become one that matches everything older. */
const MAX_RECORDS = 200;

/** What is purged; a member that is absent matches everything. */
export interface PurgeScope {
  readonly advertiserId?: string;
  readonly endpoint?: string;
  /** ISO days; an entry is hit when its period touches the range. */
  readonly from?: string;
  readonly to?: string;
}

interface PurgeRecord extends PurgeScope {
  readonly seq: number;
}

/** What an entry is about. Null matches every purge: such an entry may hold anything. */
export interface PurgeSubject {
  readonly seq: number;
  readonly advertiserId: string | null;
  readonly endpoint: string;
  readonly from: string | null;
  readonly to: string | null;
}

export interface Purges {
  /** Number of the newest purge known; to be read before the platform is asked. */
  readonly seq: number;
  isPurged(subject: PurgeSubject): boolean;
  /** @param audit a line stored with it */
  append(scope: PurgeScope, audit: string): Promise<void>;
}

export function createPurges(registry: Registry): Purges {
  let records: readonly PurgeRecord[] = [];
  let seq = 0;

  function read(): void {
    const text = registry.get(RECORD)?.value;
    records = text === undefined ? [] : (JSON.parse(text) as PurgeRecord[]);
    seq = records.at(-1)?.seq ?? 0;
  }
  read();
  registry.onChange(RECORD, read);

  return {
    get seq() {
      return seq;
    },
    isPurged: (subject) => subject.seq < seq && records.some((record) => matches(record, subject)),
    append: (scope, audit) =>
      updateRecord(registry, RECORD, () => ({
        text: JSON.stringify(bounded([...records, { seq: seq + 1, ...scope }])),
        audit: [audit],
      })),
  };
}

function bounded(records: readonly PurgeRecord[]): readonly PurgeRecord[] {
  if (records.length <= MAX_RECORDS) return records;
  const kept = records.slice(-(MAX_RECORDS / 2));
  const newestDropped = records[records.length - kept.length - 1] as PurgeRecord;
  return [{ seq: newestDropped.seq }, ...kept];
}

/** ISO days compare as text. */
function matches(record: PurgeRecord, subject: PurgeSubject): boolean {
  if (record.seq <= subject.seq) return false;
  const { advertiserId, endpoint, from, to } = record;
  if (advertiserId !== undefined && subject.advertiserId !== null && advertiserId !== subject.advertiserId)
    return false;
  if (endpoint !== undefined && endpoint !== subject.endpoint) return false;
  if (from !== undefined && subject.to !== null && subject.to < from) return false;
  return !(to !== undefined && subject.from !== null && subject.from > to);
}
