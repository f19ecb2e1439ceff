/**
 * Purges as a short list of records: an entry whose fetch started before a matching record counts as absent, in every tier
 * and for any stale use; after a soft purge, as expired at the time of the purge. Nothing is searched and deleted, so
 * nothing is missed.
 *
 * Numbers are unique within a registry, and the cache may outlive it: entries of another registry are absent too, because
 * they may have missed purges.
 */
import { hash } from 'node:crypto';
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { type RecordChange, updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';

export const PURGES_RECORD = 'purges';
/** Older records are merged into one that matches everything. */
const MAX_RECORDS = 200;

/** An absent member matches everything. */
export interface PurgeScope {
  readonly advertiserId?: string;
  readonly endpoint?: string;
  /** ISO days; matches entries whose period overlaps. */
  readonly from?: string;
  readonly to?: string;
}

/** As it is stored, oldest first. */
export const PurgeList = recordForm(
  Type.Array(
    Type.Object({
      /** @see firstOf */
      seq: Type.Integer({ minimum: 0 }),
      advertiserId: Type.Optional(Type.String()),
      endpoint: Type.Optional(Type.String()),
      from: Type.Optional(Type.String()),
      to: Type.Optional(Type.String()),
      /** Of a soft purge: its time, epoch milliseconds. Releases that do not know it take the purge for a hard one. */
      softAtMs: Type.Optional(Type.Number()),
    }),
  ),
);
type PurgeRecord = RecordOf<typeof PurgeList>[number];

/** What an entry contains. Null is unknown and matches every purge. */
export interface PurgeSubject {
  readonly seq: number;
  /** Of the first account field in the query. */
  readonly advertiserId: string | null;
  /** Accounts named in the query, in any field; a value may be a list. */
  readonly named: readonly { readonly values: readonly string[] }[];
  /** Accounts contained in the answer. */
  readonly held: readonly string[];
  readonly endpoint: string;
  readonly from: string | null;
  readonly to: string | null;
}

export type Purges = ReturnType<typeof createPurges>;

export function createPurges(registry: Registry) {
  let known = read();
  registry.onChange(PURGES_RECORD, () => {
    known = read();
  });

  function read() {
    const { epoch } = registry;
    const first = firstOf(epoch);
    const all = readPurges(registry.get(PURGES_RECORD)?.value);
    const records = all.filter(({ seq }) => seq > first && seq < first + PER_REGISTRY);
    return { epoch, first, newest: first + countOf(all), records };
  }

  function current(): typeof known {
    if (known.epoch !== registry.epoch) known = read();
    return known;
  }

  /** @returns when a purge made it stale, epoch milliseconds; {@link PURGED}: it counts as absent; null: no purge matches */
  function expiredAt(subject: PurgeSubject): number | null {
    const { first, newest, records } = current();
    if (subject.seq < first || subject.seq >= first + PER_REGISTRY) return PURGED;
    if (subject.seq >= newest) return null;
    let atMs: number | null = null;
    for (const record of records) {
      if (!matches(record, subject)) continue;
      if (record.softAtMs === undefined) return PURGED;
      atMs = Math.min(atMs ?? record.softAtMs, record.softAtMs);
    }
    return atMs;
  }

  return {
    /**
     * Number of the newest known purge; read it before a platform call. The upper digits identify the registry.
     */
    get seq(): number {
      return current().newest;
    },
    isPurged: (subject: PurgeSubject): boolean => expiredAt(subject) === PURGED,
    expiredAt,
    /**
     * @param scope with the time, for a soft purge
     * @param audit a line stored with it
     * @param also other records of the same commit, given its number
     */
    append: (
      scope: PurgeScope & Pick<PurgeRecord, 'softAtMs'>,
      audit: string,
      also: (seq: number) => RecordChange['also'] = () => [],
    ): Promise<void> =>
      updateRecord(registry, PURGES_RECORD, () => {
        const { newest, records } = current();
        const seq = newest + 1;
        return {
          text: JSON.stringify(bounded([...records, { ...scope, seq }])),
          also: also(seq) ?? [],
          audit: [audit],
        };
      }),
  };
}

const PURGED = Number.NEGATIVE_INFINITY;

/** Numbers of one registry; the digits above identify the registry. */
const PER_REGISTRY = 2 ** 22;
const REGISTRIES = 2 ** 31;

/** Whether two numbers can be compared. */
export function areOfOneRegistry(seq: number, other: number): boolean {
  return Math.floor(seq / PER_REGISTRY) === Math.floor(other / PER_REGISTRY);
}

/** The number before the first purge of a registry. */
function firstOf(epoch: string): number {
  const digest = hash('sha256', epoch, 'buffer').readUInt32BE() % REGISTRIES;
  return digest * PER_REGISTRY;
}

/** Number of purges in a list; the list may come from a backup of another registry. */
function countOf(records: readonly PurgeRecord[]): number {
  return (records.at(-1)?.seq ?? 0) % PER_REGISTRY;
}

function readPurges(text: string | undefined): readonly PurgeRecord[] {
  return text === undefined ? [] : PurgeList.read(text, PURGES_RECORD);
}

/**
 * The list after a restore: the longer one, so that no number is reused.
 * @param present the current record; undefined without one
 */
export function laterPurges(present: string | undefined, backup: string): string {
  if (present === undefined) return backup;
  return countOf(readPurges(backup)) > countOf(readPurges(present)) ? backup : present;
}

function bounded(records: readonly PurgeRecord[]): readonly PurgeRecord[] {
  if (records.length <= MAX_RECORDS) return records;
  const kept = records.slice(-(MAX_RECORDS / 2));
  const dropped = records.slice(0, -kept.length);
  const { seq, softAtMs } = dropped.at(-1) as PurgeRecord;
  const isSoft = dropped.every((record) => record.softAtMs !== undefined);
  return [{ seq, ...(isSoft ? { softAtMs } : {}) }, ...kept] as readonly PurgeRecord[];
}

/** ISO days compare as text. */
function matches(record: PurgeRecord, subject: PurgeSubject): boolean {
  return record.seq > subject.seq && isInScope(record, subject);
}

/** Whether a purge of this scope would match. */
export function isInScope({ advertiserId, endpoint, from, to }: PurgeScope, subject: PurgeSubject): boolean {
  if (advertiserId !== undefined && !concerns(advertiserId, subject)) return false;
  if (endpoint !== undefined && endpoint !== subject.endpoint) return false;
  if (from !== undefined && subject.to !== null && subject.to < from) return false;
  return !(to !== undefined && subject.from !== null && subject.from > to);
}

function concerns(advertiserId: string, { advertiserId: first, named, held }: PurgeSubject): boolean {
  if (first === null || first === advertiserId || held.includes(advertiserId)) return true;
  // A list may come as one text: `1,2`.
  return named.some(({ values }) => values.some((value) => value.split(/\D+/).includes(advertiserId)));
}
