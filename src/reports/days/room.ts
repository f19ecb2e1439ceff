/** The room of days: what is stored, in two accounts, and what goes if there is too much of it. Pure. */
import type { DaysRoom } from '../../store/days-port.js';
import type { Day } from './month.js';
import type { OpenMonth } from './note-fetch.js';
import type { WholeMonth } from './whole-month.js';
import { partsShown } from './write-months.js';

/** Bytes. */
export interface Accounts {
  /** Indexes, and parts that plain reports show. */
  readonly current: number;
  /** Earlier revisions, and all other parts. */
  readonly earlier: number;
}

export interface RoomLimits {
  /** Of the current account; null: derived from the memory of the store. */
  readonly currentMaxBytes: number | null;
  /** Of the other. */
  readonly maxBytes: number;
}

/** Of the memory of the store. */
const [CURRENT_SHARE, EARLIER_SHARE] = [0.5, 0.25];
export const isTight = (room: DaysRoom | null): boolean => room !== null && room.excessBytes > 0;

/** Memory above the tight part at which whole months go as well: a little more, and new days are refused. */
const NEARLY_CLOSED_SHARE = 0.03;

/** @returns by how many bytes each account is too large */
export function excessOf({ current, earlier }: Accounts, limits: RoomLimits, room: DaysRoom | null) {
  const most = room?.maxBytes ?? Number.POSITIVE_INFINITY;
  const earlierMax = Math.min(limits.maxBytes, most * EARLIER_SHARE);
  const tight = room?.excessBytes ?? 0;
  return {
    current: Math.max(
      current - (limits.currentMaxBytes ?? most * CURRENT_SHARE),
      // Whatever fills the memory: months that nobody uses make room for those of now.
      tight > most * NEARLY_CLOSED_SHARE ? tight - earlier : 0,
    ),
    earlier: Math.max(earlier - earlierMax, tight),
  };
}

/** @param sizes stored bytes of parts by name. @param index its stored bytes */
export function accountsOf(
  { stored, month }: WholeMonth,
  after: OpenMonth,
  sizes: ReadonlyMap<string, number>,
): Accounts {
  const shown = partsShown(after);
  let [current, earlier] = [stored.index?.length ?? 0, 0];
  for (const [name, bytes] of sizes) {
    if (shown.has(name)) current += bytes;
    else earlier += bytes;
  }
  for (const [day, bytes] of stored.earlier)
    if ((after.before.get(day) ?? month.before.get(day) ?? []).length > 0) earlier += bytes?.length ?? 0;
  return { current, earlier };
}

/** Without earlier revisions: what came before the latest is unknown. @returns the same month if there are none */
export function withoutEarlier(month: OpenMonth): OpenMonth {
  return changed(month, ({ latest, ...day }) =>
    day.earlier === 0 ? null : { ...day, earlier: 0, latest: latest && { ...latest, removedBefore: true } },
  );
}

/** Of a month that history records no more: its latest states alone, as a cache. @returns the same month if it is so */
export function unrecorded(month: OpenMonth): OpenMonth {
  return changed(month, ({ latest, ...day }) =>
    day.earlier === 0 && (latest === null || latest.unrecorded === true)
      ? null
      : { ...day, earlier: 0, latest: latest && { ...latest, unrecorded: true } },
  );
}

/** @param change null: as it is */
function changed(month: OpenMonth, change: (day: Day) => Day | null): OpenMonth {
  const [days, before] = [new Map(month.days), new Map(month.before)];
  let isSame = true;
  for (const [at, day] of month.days) {
    const after = change(day);
    if (after === null) continue;
    isSame = false;
    days.set(at, after);
    if (before.has(at)) before.set(at, []);
  }
  return isSame ? month : { ...month, days, before };
}
