/**
 * The feed of changes in the environment of the history. The keys:
 * `T`: the feed: its incarnation (8 bytes); as doubles when it began, the numbers of the newest entry and of the last one that
 *   was removed, and how many changes are kept
 * `t` incarnation · number (8 bytes, big endian): an entry: the number of its changes (4), when it was appended (8, a double), its
 *   text
 * With a damaged record another incarnation begins, as a gap would go unnoticed. Entries of former ones go with the next `trim`.
 */
import { randomBuffer } from '../../lib/chance.js';
import {
  type Changes,
  FEED_CHANNEL,
  type FeedEntry,
  type FeedPage,
  partsOfPosition,
  positionOf,
  type Told,
} from '../changes-port.js';
import { type Bus, StoreUnavailable } from '../port.js';
import { orDamaged, type RangeOptions, type Reader, type StoredRecord } from './environment.js';
import { numberKey, wholeTable } from './records.js';
import { type Draft, removeRange, type Table } from './table.js';

const [ENTRIES, META] = ['t', Buffer.from('T')] as const;
const [INCARNATION_BYTES, META_BYTES, COUNT_BYTES, FRONT_BYTES] = [8, 40, 4, 12];
/** Entries that one transaction removes; so many changes may be kept beyond the limit. */
const TRIMMED_AT_ONCE = 1000;
/** A feed that was begun anew is whole, unless the disk is at fault. */
const READ_TRIES = 3;
/** In numbers of entries, of one in the lower part of a position. */
const LOW = 1_000_000_000;

/** Appends an entry with what else is written in this draft. {@link FEED_CHANNEL} is to be published after the commit. */
export function tellIn(draft: Draft, { text, count }: Told, nowMs: number): void {
  const meta = metaIn(draft) ?? begun(nowMs);
  const last = meta.last + 1;
  const front = Buffer.alloc(FRONT_BYTES);
  front.writeUInt32BE(count);
  front.writeDoubleBE(Math.floor(nowMs), COUNT_BYTES);
  draft.set(entryKey(meta, last), Buffer.concat([front, Buffer.from(text)]));
  draft.set(META, metaValue({ ...meta, last, count: meta.count + count }));
}

/** @param now milliseconds */
export function changesOver(table: Table, publish: Bus['publish'], now: () => number): Changes {
  /** @param former the one that is damaged; null: there is none */
  const beginAnew = (former: Meta | null) =>
    table.change((draft) => {
      const present = metaIn(draft);
      // Else another reader has done it.
      if (present === null || former?.incarnation.equals(present.incarnation))
        draft.set(META, metaValue(begun(now())));
    });

  async function pageOf(range: (meta: Meta) => RangeOptions): Promise<FeedPage> {
    for (let tries = 0; tries < READ_TRIES; tries += 1) {
      const { meta, entries, oldestMs, isDamaged } = table.read((view) => {
        const found = metaIn(view);
        let damaged = false;
        const onDamaged = () => {
          damaged = true;
        };
        const records = found === null ? [] : view.range(range(found), onDamaged);
        const [oldest] = found === null ? [] : view.range({ ...boundsOf(found), limit: 1 }, onDamaged);
        const oldestMs = oldest?.value.readDoubleBE(COUNT_BYTES) ?? found?.createdMs ?? 0;
        return { meta: found, entries: records.map(entryOf), oldestMs, isDamaged: damaged };
      });
      if (meta !== null && !isDamaged) return { ...described(meta), entries, oldestMs };
      await beginAnew(meta);
    }
    throw new StoreUnavailable('the feed of changes was damaged whenever it was read');
  }

  return {
    async read(from, limit) {
      const [high, low] = partsOfPosition(from);
      return await pageOf((meta) => ({ ...boundsOf(meta), from: entryKey(meta, high * LOW + low), limit }));
    },
    newest: (limit = 1) => pageOf((meta) => ({ ...boundsOf(meta), reverse: true, limit })),
    async append(told) {
      await table.change((draft) => tellIn(draft, told, now()));
      await publish(FEED_CHANNEL, '');
    },
    async trim(maxChanges) {
      const meta = table.read(metaIn);
      if (meta === null) return;
      let isOver = meta.count <= maxChanges + TRIMMED_AT_ONCE;
      while (!isOver) isOver = await table.change((draft) => trimSome(draft, maxChanges, now()));
      const { from, to } = wholeTable(ENTRIES);
      const present = boundsOf(table.read(metaIn) ?? meta);
      await removeRange(table, from, present.from);
      await removeRange(table, present.to, to);
    },
    // A write appends by itself.
    publish: async () => {},
  };
}

/** @returns whether no more than `maxChanges` are left */
function trimSome(draft: Draft, maxChanges: number, nowMs: number): boolean {
  const meta = metaIn(draft);
  if (meta === null) return true;
  let isDamaged = false;
  const oldest = draft.range(
    { ...boundsOf(meta), from: entryKey(meta, meta.trimmed + 1) },
    TRIMMED_AT_ONCE,
    () => {
      isDamaged = true;
    },
  );
  if (isDamaged) {
    draft.set(META, metaValue(begun(nowMs)));
    return true;
  }
  let { count, trimmed } = meta;
  for (const { key, value } of oldest) {
    if (count <= maxChanges) break;
    draft.set(key, null);
    count -= value.readUInt32BE();
    trimmed += 1;
  }
  draft.set(META, metaValue({ ...meta, count, trimmed }));
  return count <= maxChanges || oldest.length === 0;
}

interface Meta {
  readonly incarnation: Buffer;
  readonly createdMs: number;
  readonly last: number;
  readonly trimmed: number;
  readonly count: number;
}

const begun = (nowMs: number): Meta => ({
  incarnation: randomBuffer(INCARNATION_BYTES),
  createdMs: Math.floor(nowMs),
  ...{ last: 0, trimmed: 0, count: 0 },
});

/** @returns null for none, and for a damaged one */
function metaIn(reader: Reader): Meta | null {
  const bytes = orDamaged(() => reader.get(META));
  if (bytes === null || bytes === 'damaged' || bytes.length !== META_BYTES) return null;
  const [createdMs = 0, last = 0, trimmed = 0, count = 0] = [8, 16, 24, 32].map((at) =>
    bytes.readDoubleBE(at),
  );
  return { incarnation: bytes.subarray(0, INCARNATION_BYTES), createdMs, last, trimmed, count };
}

function metaValue({ incarnation, createdMs, last, trimmed, count }: Meta): Buffer {
  const bytes = Buffer.alloc(META_BYTES);
  incarnation.copy(bytes);
  for (const [at, number] of [createdMs, last, trimmed, count].entries())
    bytes.writeDoubleBE(number, INCARNATION_BYTES + 8 * at);
  return bytes;
}

const startOf = ({ incarnation }: Meta) => Buffer.concat([Buffer.from(ENTRIES), incarnation]);
const entryKey = (meta: Meta, number: number) => Buffer.concat([startOf(meta), numberKey('', number)]);
const boundsOf = (meta: Meta) => ({
  from: startOf(meta),
  to: Buffer.concat([startOf(meta), Buffer.of(0xff)]),
});

const numbered = (number: number) => positionOf(Math.floor(number / LOW), number % LOW);

function entryOf({ key, value }: StoredRecord): FeedEntry {
  const number = Number(key.readBigUInt64BE(key.length - 8));
  return { position: numbered(number), text: value.toString('utf8', FRONT_BYTES) };
}

function described({ incarnation, createdMs, last, trimmed }: Meta): Omit<FeedPage, 'entries' | 'oldestMs'> {
  return {
    incarnation: incarnation.toString('hex'),
    createdMs,
    last: numbered(last),
    trimmed: numbered(trimmed),
  };
}
