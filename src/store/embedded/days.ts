/**
 * The days of reports in the environment of the history. The keys, with the digest (16 bytes) of the series:
 * `d` digest · month · `i`: stamp (6 bytes), end (8, epoch milliseconds), length of the series (2), the series, index;
 * `e` day: earlier revisions; `p` name · `:` · number: a piece of a part
 * `u` month · digest: marks a month; the value is the day of its last use (4 bytes) and the series
 * Numbers are big endian. Locks are in memory.
 */
import { hash } from 'node:crypto';
import { FEED_CHANNEL } from '../changes-port.js';
import {
  type Claimed,
  countedOrder,
  type DaysStore,
  type MonthPlace,
  type MonthWrite,
  type StoredMonth,
  type WantedMonth,
  type WholeMonth,
  type Written,
} from '../days-port.js';
import { readTable, withTable } from '../month-table.js';
import type { Bus, Leases } from '../port.js';
import { newStamp } from '../stamp.js';
import { tellIn } from './changes.js';
import { orDamaged, type Reader, type StoredRecord, type View } from './environment.js';
import { wholeTable } from './records.js';
import type { Draft, Table } from './table.js';

const [DAYS, MONTHS] = ['d', 'u'] as const;
/** A larger record is copied and checked in one go while hits wait. */
const PIECE_BYTES = 65_536;
/** The series follows the front. */
const [STAMP_BYTES, SERIES_AT, FRONT_BYTES] = [6, 14, 16];
const MONTH_CHARS = 7;
const DIGEST_BYTES = 16;
/** In keys: where the month begins, and where what all keys of a month begin with ends. */
const NAME_AT = DAYS.length + DIGEST_BYTES;
const MONTH_BYTES = NAME_AT + MONTH_CHARS;

/**
 * @param leases hold the locks
 * @param now milliseconds, for ends and the order of fetches
 */
export function daysOver(
  table: Table,
  leases: Leases,
  publish: Bus['publish'],
  now: () => number,
): DaysStore {
  let lastOrder = 0;
  const lockOf = (series: string) => (name: string) => `${series} ${name}`;

  function monthOf(view: View, place: MonthPlace, { days, withEarlier }: Omit<WantedMonth, 'month'>) {
    const keys = keysOf(place);
    const found = indexIn(view, keys, now());
    if (found === null) return null;
    const names = [...new Set(days.flatMap((day) => found.named.get(day) ?? []))];
    const { stamp, index } = found;
    const earlier = withEarlier ? earlierIn(view, keys, days) : new Map<number, Buffer | null>();
    return { stamp, index, parts: partsIn(view, keys, names), earlier };
  }

  async function release(series: string, { owner, names, news }: Parameters<DaysStore['release']>[1]) {
    await leases.release(names.map(lockOf(series)), owner);
    if (news !== undefined) await publish(news.channel, news.message);
  }

  return {
    read: async (series, wanted) =>
      table.read((view) => wanted.map(({ month, ...of }) => monthOf(view, { series, month }, of))),
    parts: async (place, names) => table.read((view) => partsIn(view, keysOf(place), names)),
    earlier: async (place, days) =>
      table.read((view) => {
        const keys = keysOf(place);
        const found = indexIn(view, keys, now());
        return found && { stamp: found.stamp, index: found.index, earlier: earlierIn(view, keys, days) };
      }),
    async write(writes) {
      const done = await table.change((draft) => writes.map((write) => writeMonth(draft, write, now())));
      for (const [at, { series, release: held }] of writes.entries())
        if (done[at] === null && held !== undefined) await release(series, held);
      if (writes.some(({ told }, at) => told !== undefined && done[at] === null))
        await publish(FEED_CHANNEL, '');
      return done;
    },
    async claim(series, { owner, names, leaseMs, known }) {
      const held = await leases.claim(names.map(lockOf(series)), owner, leaseMs);
      return table.read((view): Claimed => {
        const changed = new Map<string, StoredMonth | null>();
        const earlier = new Map<string, StoredMonth['earlier']>();
        const clockUs = Math.floor(now() * 1000);
        lastOrder = Math.max(lastOrder + 1, clockUs);
        for (const { month, days, stamp } of known) {
          const keys = keysOf({ series, month });
          const present = indexIn(view, keys, now());
          const before = present?.order ?? 0;
          lastOrder = Math.max(lastOrder, countedOrder(before, clockUs) + 1);
          earlier.set(month, present === null ? new Map() : earlierIn(view, keys, days));
          if ((present?.stamp ?? 0) !== stamp)
            changed.set(month, monthOf(view, { series, month }, { days, withEarlier: true }));
        }
        return { held, order: lastOrder, clockUs, changed, earlier };
      });
    },
    renew: (series, { owner, names, leaseMs }) => leases.renew(names.map(lockOf(series)), owner, leaseMs),
    release,
    used: (months, day) =>
      table.change((draft) => {
        for (const place of months) {
          const { mark } = keysOf(place);
          const present = draft.get(mark);
          if (present !== null && present.readUInt32BE() < day) draft.set(mark, markValue(day, place.series));
        }
      }),
    unused: async (limit) => unusedIn(table, limit),
    async months(after, limit) {
      const { from, to } = wholeTable(MONTHS);
      const start = after === null ? from : Buffer.concat([keysOf(after).mark, Buffer.of(0)]);
      return table.read((view) => view.range({ from: start, to, limit }, () => {})).map(markedMonth);
    },
    whole: async (place) => table.read((view) => wholeIn(view, keysOf(place), now())),
    async remove(place, stamp, told) {
      const isRemoved = await table.change((draft) => {
        if (!removeMonth(draft, keysOf(place), stamp, now())) return false;
        if (told !== undefined) tellIn(draft, told, now());
        return true;
      });
      if (isRemoved && told !== undefined) await publish(FEED_CHANNEL, '');
      return isRemoved;
    },
    relist: (isStopped) => relist(table, isStopped),
    room: () => null,
  };
}

function writeMonth(draft: Draft, write: MonthWrite, nowMs: number): Written {
  const keys = keysOf(write);
  const present = indexIn(draft, keys, nowMs);
  if ((present?.stamp ?? 0) !== write.stamp) {
    if (present === null) return 'none';
    const earlier = earlierIn(draft, keys, [...write.earlier.keys()]);
    return { stamp: present.stamp, index: present.index, parts: new Map(), earlier };
  }
  draft.set(keys.index, indexValue(write, present, nowMs));
  if (!draft.has(keys.mark)) draft.set(keys.mark, markValue(0, write.series));
  for (const [name, part] of write.parts)
    for (let at = 0; at * PIECE_BYTES < Math.max(1, part.length); at += 1)
      draft.set(keys.piece(name, at), part.subarray(at * PIECE_BYTES, (at + 1) * PIECE_BYTES));
  for (const [day, bytes] of write.earlier) draft.set(keys.earlier(day), bytes);
  for (const name of write.dropped)
    for (const { key } of draft.range(keys.pieces(name), Number.MAX_SAFE_INTEGER)) draft.set(key, null);
  if (write.told !== undefined) tellIn(draft, write.told, nowMs);
  return null;
}

type Bounds = Parameters<Draft['range']>[0];

/** All at once: of a month that is written meanwhile nothing may go. */
function removeMonth(draft: Draft, keys: Keys, stamp: number, nowMs: number): boolean {
  if ((indexIn(draft, keys, nowMs)?.stamp ?? 0) !== stamp) return false;
  removeAll(draft, keys.all);
  draft.set(keys.mark, null);
  return true;
}

function removeAll(draft: Draft, bounds: Bounds): void {
  const damaged: Buffer[] = [];
  const found = draft.range(bounds, Number.MAX_SAFE_INTEGER, ({ key }) => damaged.push(key));
  for (const key of [...found.map((one) => one.key), ...damaged]) draft.set(key, null);
}

/** Months that are visited in one transaction. */
const VISITED_AT_ONCE = 100;

/** Marks months whose mark is damaged or missing. Of one whose series is not known either, all is removed. */
async function relist(table: Table, isStopped: () => boolean): Promise<number> {
  let [count, isOver] = [0, false];
  const { from: start, to } = wholeTable(DAYS);
  let from: Buffer = start;
  while (!isOver && !isStopped())
    await table.change((draft) => {
      for (let visited = 0; visited < VISITED_AT_ONCE && !isOver; visited += 1) {
        const first = firstIn(draft, { from, to });
        if (first === null) isOver = true;
        else {
          const month = first.subarray(0, MONTH_BYTES);
          if (remark(draft, month)) count += 1;
          from = Buffer.concat([month, Buffer.of(0xff)]);
        }
      }
    });
  return count;
}

function firstIn(draft: Draft, bounds: Bounds): Buffer | null {
  const damaged: Buffer[] = [];
  const [first] = draft.range(bounds, 1, ({ key }) => damaged.push(key));
  return [...(first === undefined ? [] : [first.key]), ...damaged].sort(Buffer.compare)[0] ?? null;
}

/** @param month begin of the keys of a month. @returns whether its mark was set */
function remark(draft: Draft, month: Buffer): boolean {
  const [digest, name] = [month.subarray(DAYS.length, NAME_AT), month.subarray(NAME_AT)];
  const mark = Buffer.concat([Buffer.from(MONTHS), name, digest]);
  const present = recordIn(draft, mark);
  if (present !== null && present !== 'damaged') return false;
  const index = recordIn(draft, Buffer.concat([month, Buffer.from('i')]));
  const series = Buffer.isBuffer(index) ? seriesIn(index) : null;
  if (series !== null && keysOf({ series, month: name.toString() }).mark.equals(mark)) {
    draft.set(mark, markValue(0, series));
    return true;
  }
  removeAll(draft, { from: month, to: Buffer.concat([month, Buffer.of(0xff)]) });
  draft.set(mark, null);
  return false;
}

type Keys = ReturnType<typeof keysOf>;

function keysOf({ series, month }: MonthPlace) {
  const digest = hash('sha256', series, 'buffer').subarray(0, DIGEST_BYTES);
  const start = Buffer.concat([Buffer.from(DAYS), digest, Buffer.from(month)]);
  const key = (rest: string | Buffer) => Buffer.concat([start, Buffer.from(rest)]);
  return {
    series,
    index: key('i'),
    earlier: (day: number) => key(`e${String(day).padStart(2, '0')}`),
    piece: (name: string, at: number) => key(`p${name}:${String(at).padStart(6, '0')}`),
    pieces: (name: string) => ({ from: key(`p${name}:`), to: key(`p${name};`) }),
    /** All of one kind, by its letter. */
    kind: (letter: string) => ({ from: key(letter), to: key(`${letter}\u00ff`) }),
    all: { from: start, to: key(Buffer.of(0xff)) },
    mark: Buffer.concat([Buffer.from(MONTHS + month), digest]),
  };
}

interface FoundIndex extends Pick<StoredMonth, 'stamp' | 'index'> {
  readonly endsAtMs: number;
  readonly order: number;
  /** Names of parts by day. */
  readonly named: ReadonlyMap<number, string>;
}

/** @returns null for an absent one, or one that is over */
function indexIn(reader: Reader, keys: Keys, nowMs: number): FoundIndex | null {
  const bytes = recordIn(reader, keys.index);
  if (bytes === null) return null;
  if (bytes === 'damaged') return { stamp: reader.stampOf(keys.index), ...DAMAGED };
  // That of another series: the digest of its name is the same, or its bytes are damaged.
  if (seriesIn(bytes) !== keys.series) return { stamp: reader.stampOf(keys.index), ...DAMAGED };
  const endsAtMs = bytes.readDoubleBE(STAMP_BYTES);
  if (nowMs >= endsAtMs) return null;
  const table = bytes.subarray(FRONT_BYTES + bytes.readUInt16BE(SERIES_AT));
  return { stamp: bytes.readUIntBE(0, STAMP_BYTES), endsAtMs, ...readTable(table) };
}

function seriesIn(index: Buffer): string | null {
  if (index.length < FRONT_BYTES) return null;
  return index.toString('utf8', FRONT_BYTES, FRONT_BYTES + index.readUInt16BE(SERIES_AT));
}

const DAMAGED = {
  index: null,
  order: 0,
  endsAtMs: Number.POSITIVE_INFINITY,
  named: new Map<number, string>(),
};

/** A damaged record concerns its month alone. @throws StoreUnavailable */
function recordIn(reader: Reader, key: Buffer): Buffer | null | 'damaged' {
  return orDamaged(() => reader.get(key));
}

function indexValue(write: MonthWrite, present: FoundIndex | null, nowMs: number): Buffer {
  const front = Buffer.alloc(FRONT_BYTES);
  front.writeUIntBE(newStamp(), 0, STAMP_BYTES);
  const endsAtMs = write.ttlMs === null ? Number.POSITIVE_INFINITY : nowMs + write.ttlMs;
  const latestMs = write.isEnding ? 0 : (present?.endsAtMs ?? 0);
  front.writeDoubleBE(Math.max(endsAtMs, latestMs), STAMP_BYTES);
  const series = Buffer.from(write.series);
  front.writeUInt16BE(series.length, SERIES_AT);
  return Buffer.concat([front, series, withTable(write)]);
}

function partsIn(view: View, keys: Keys, names: readonly string[]): ReadonlyMap<string, Buffer> {
  const parts = new Map<string, Buffer>();
  for (const name of names) {
    let isDamaged = false;
    const pieces = view.range(keys.pieces(name), () => {
      isDamaged = true;
    });
    if (pieces.length > 0 && !isDamaged) parts.set(name, Buffer.concat(pieces.map(({ value }) => value)));
  }
  return parts;
}

function earlierIn(view: Reader, keys: Keys, days: readonly number[]): ReadonlyMap<number, Buffer | null> {
  const earlier = new Map<number, Buffer | null>();
  for (const day of days) {
    const bytes = recordIn(view, keys.earlier(day));
    if (bytes !== null) earlier.set(day, bytes === 'damaged' ? null : bytes);
  }
  return earlier;
}

const NOTHING = Buffer.alloc(0);

function wholeIn(view: View, keys: Keys, nowMs: number): WholeMonth | null {
  const found = indexIn(view, keys, nowMs);
  const damaged: Buffer[] = [];
  const recordsOf = (letter: string) => {
    const records = view.range(keys.kind(letter), (error) => damaged.push(error.key));
    const all = [...records, ...damaged.splice(0).map((key) => ({ key, value: NOTHING }))];
    return all.map(({ key, value }) => ({
      name: key.toString('latin1', keys.all.from.length + 1),
      bytes: value.length,
    }));
  };
  const days = recordsOf('e').map(({ name }) => Number(name));
  const parts = new Map<string, number>();
  for (const { name: piece, bytes } of recordsOf('p')) {
    const name = piece.slice(0, piece.indexOf(':'));
    parts.set(name, (parts.get(name) ?? 0) + bytes);
  }
  if (found === null && days.length === 0 && parts.size === 0) return null;
  const { stamp, index } = found ?? { stamp: 0, index: null };
  return { stamp, index, earlier: earlierIn(view, keys, days), parts };
}

function markValue(usedOn: number, series: string): Buffer {
  const front = Buffer.alloc(4);
  front.writeUInt32BE(usedOn);
  return Buffer.concat([front, Buffer.from(series)]);
}

function unusedIn(table: Table, limit: number) {
  const marks = table.read((view) => view.range(wholeTable(MONTHS), () => {}));
  const all = marks.map((one) => ({ ...markedMonth(one), usedOn: one.value.readUInt32BE() }));
  return all
    .filter(({ usedOn }) => usedOn > 0)
    .sort((a, b) => a.usedOn - b.usedOn)
    .slice(0, limit);
}

function markedMonth({ key, value }: StoredRecord): MonthPlace {
  const month = key.toString('latin1', MONTHS.length, MONTHS.length + MONTH_CHARS);
  return { month, series: value.toString('utf8', 4) };
}
