/**
 * Small heads of several days of a month as one value: they share most bytes, and a field of a hash costs about 90
 * beside its value. The form: stamp of the value (6 bytes, big endian) · form (1) · for each day: its number (1; +128 if
 * a stamp follows, else it has that of the day before) · lengths of the beginning and the end that it shares with the
 * day before (1 each) · length of its other bytes (1) · stamp (6) · other bytes.
 */
import { newStamp } from '../entry-stamp.js';
import type { HistoryHeads } from '../history-port.js';
import { STAMP_BYTES, stampBytes, stampOf } from './stamp.js';

/** Heads of one day begin with another byte. */
const FORM = 3;
const HAS_STAMP = 128;
const NOTHING = Buffer.alloc(0);

/** Longer heads have their own field, as each write of a day replaces the whole value. */
export const SHARED_HEADS_BELOW = 256;

/** By day: `07` of `2026-03-07`. */
type DayHeads = ReadonlyMap<string, HistoryHeads>;

/** @param days with heads of fewer bytes than {@link SHARED_HEADS_BELOW} */
export function packHeads(days: DayHeads): Buffer {
  const pieces = [stampBytes(newStamp()), Buffer.of(FORM)];
  let last: HistoryHeads = { stamp: 0, heads: NOTHING };
  for (const [day, one] of days) {
    const [before, { heads }] = [last.heads, one];
    const most = Math.min(before.length, heads.length);
    let [start, end] = [0, 0];
    while (start < most && heads[start] === before[start]) start += 1;
    // By index: `at` takes four times as long.
    while (start + end < most && heads[heads.length - 1 - end] === before[before.length - 1 - end]) end += 1;
    const hasStamp = one.stamp !== last.stamp;
    const other = heads.subarray(start, heads.length - end);
    pieces.push(Buffer.of(Number(day) + (hasStamp ? HAS_STAMP : 0), start, end, other.length));
    pieces.push(hasStamp ? stampBytes(one.stamp) : NOTHING, other);
    last = one;
  }
  return Buffer.concat(pieces);
}

/** @returns null for bytes of another form, which must stay unchanged */
export function unpackHeads(bytes: Buffer | null): DayHeads | null {
  const days = new Map<string, HistoryHeads>();
  if (bytes === null) return days;
  if (bytes[STAMP_BYTES] !== FORM) return null;
  let last: HistoryHeads = { stamp: 0, heads: NOTHING };
  for (let at = STAMP_BYTES + 1; at < bytes.length; ) {
    const [day, start, end] = [bytes[at] ?? 0, bytes[at + 1] ?? 0, bytes[at + 2] ?? 0];
    const length = bytes[at + 3] ?? 0;
    const stampAt = at + 4;
    const otherAt = stampAt + (day >= HAS_STAMP ? STAMP_BYTES : 0);
    at = otherAt + length;
    if (at > bytes.length || start + end > last.heads.length) return null;
    const { heads } = last;
    last = {
      stamp: day >= HAS_STAMP ? stampOf(bytes.subarray(stampAt)) : last.stamp,
      heads: Buffer.concat([
        heads.subarray(0, start),
        bytes.subarray(otherAt, at),
        heads.subarray(heads.length - end),
      ]),
    };
    days.set(String(day % HAS_STAMP).padStart(2, '0'), last);
  }
  return days;
}
