/**
 * The sweep of stored days, by one process: removes parts that nothing names and what is past retention, gathers scattered rows,
 * and makes room. docs/architecture.md, "The sweep".
 */
import type { Logger } from 'pino';
import { randomBuffer } from '../../lib/chance.js';
import type { MovableClock } from '../../lib/clock.js';
import { turn } from '../../lib/time.js';
import type { MonthPlace, WholeMonth as StoredWhole } from '../../store/days-port.js';
import { StoreUnavailable, whenAway } from '../../store/port.js';
import { dayAt, isoDay } from '../query/days.js';
import type { Days } from './days.js';
import { type Gathered, gather, partsToGather } from './gather.js';
import type { Month } from './month.js';
import type { OpenMonth } from './note-fetch.js';
import { placeName } from './open-months.js';
import {
  type Accounts,
  accountsOf,
  excessOf,
  isTight,
  type RoomLimits,
  unrecorded,
  withoutEarlier,
} from './room.js';
import {
  monthsOf,
  openWhole,
  readParts,
  removeWhole,
  rewrite,
  unnamedParts,
  type WholeMonth,
} from './whole-month.js';
import { partsShown } from './write-months.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Of a month past retention. */
const ENDS_IN_MS = 30 * DAY_MS;
/** A turn of the sweep must not delay reports for long. */
const GATHERED_A_TURN = 50;
const NAME_BYTES = 8;

interface SweepOptions extends RoomLimits {
  readonly days: Days;
  readonly retentionDays: number;
  readonly clock: Pick<MovableClock, 'now' | 'apartMs'>;
  readonly logger: Logger;
}

/** What a look at a month found. */
interface Look extends Accounts {
  readonly place: MonthPlace;
  /** 0: unknown, or no index. */
  readonly stamp: number;
  readonly atMs: number;
  /** Parts that nothing named. */
  readonly unnamed: ReadonlySet<string>;
  /** Day of the last fetch, since the epoch. */
  readonly fetchedOn: number;
  /** To be looked at in the next turn. */
  readonly isOpen: boolean;
}

const NONE: ReadonlySet<string> = new Set();
const EMPTY: Omit<Look, 'place' | 'atMs'> = {
  stamp: 0,
  current: 0,
  earlier: 0,
  unnamed: NONE,
  fetchedOn: 0,
  isOpen: false,
};

interface Sweep extends SweepOptions {
  /** The last one at each month, by place. */
  looks: Map<string, Look>;
  /** Those of a turn that failed, which the next one goes on with; null: there is none. */
  unfinished: { readonly sinceMs: number; readonly looks: ReadonlyMap<string, Look> } | null;
  /** When months were last put back into their list. */
  relistedAtMs: number;
  gatheringsLeft: number;
}

export interface Swept extends Accounts {
  /** Months past retention. */
  readonly expired: number;
}

/**
 * Looks at months that changed since its last turn, and once a day at each. After a turn that failed, it looks at the rest of them.
 * @returns a turn of the sweep. `isListNeeded`: it fails unless it has looked for months that are missing in their list. It
 *   throws StoreUnavailable
 */
export function createSweepDays(options: SweepOptions) {
  const sweep: Sweep = {
    ...options,
    looks: new Map(),
    unfinished: null,
    relistedAtMs: Number.NEGATIVE_INFINITY,
    gatheringsLeft: 0,
  };
  return async (isStopped: () => boolean, isListNeeded = false): Promise<Swept> => {
    sweep.gatheringsLeft = GATHERED_A_TURN;
    const unlisted = await relist(sweep, isStopped, isListNeeded).then(
      () => null,
      whenAway((error) => error),
    );
    const { expired, fault } = await lookAtAll(sweep, isStopped);
    await makeRoom(sweep, isStopped);
    const failure = fault ?? (isListNeeded ? unlisted : null);
    if (failure !== null) throw failure;
    if (unlisted !== null) sweep.logger.warn({ err: unlisted }, NOT_LISTED);
    return { ...sumOf(sweep), expired };
  };
}

const NOT_LISTED = 'failed to look for months that are missing in their list; retrying in the next turn';

/** @returns months past retention; why some were not looked at */
async function lookAtAll(sweep: Sweep, isStopped: () => boolean) {
  const { unfinished, clock } = sweep;
  // Of a month that always fails, the others must not wait for longer.
  const isGoingOn = unfinished !== null && Math.abs(clock.now() - unfinished.sinceMs) < HOUR_MS;
  const { sinceMs, looks: seen } = isGoingOn
    ? unfinished
    : { sinceMs: clock.now(), looks: new Map<string, Look>() };
  const looks = new Map(seen);
  let expired = 0;
  let fault: StoreUnavailable | null = null;
  const fail = whenAway((error) => {
    fault ??= error;
    return null;
  });
  const look = async (place: MonthPlace): Promise<void> => {
    const name = placeName(place);
    if (seen.has(name)) return;
    // One month that cannot be read or written must not keep the others.
    const found = await lookAt(sweep, place, sweep.looks.get(name), () => {
      expired += 1;
    }).catch(fail);
    if (found !== null) looks.set(name, found);
    // Requests for reports go first.
    await turn();
  };
  try {
    for await (const place of monthsOf(sweep.days.store)) {
      if (isStopped()) break;
      await look(place);
    }
  } catch (error) {
    fail(error);
  }
  const isOver = fault === null && !isStopped();
  sweep.looks = isOver ? looks : new Map([...sweep.looks, ...looks]);
  sweep.unfinished = fault === null ? null : { sinceMs, looks };
  return { expired, fault: fault as StoreUnavailable | null };
}

/**
 * An operator or an eviction may have removed the list of months. @param isNeeded now; else once a day
 * @throws StoreUnavailable
 */
async function relist(sweep: Sweep, isStopped: () => boolean, isNeeded: boolean): Promise<void> {
  const { days, clock, logger } = sweep;
  if (!isNeeded && Math.abs(clock.now() - sweep.relistedAtMs) < DAY_MS) return;
  const months = await days.store.relist(isStopped);
  if (!isStopped()) sweep.relistedAtMs = clock.now();
  if (months > 0) logger.warn({ months }, 'stored months were missing in their list: put them back');
}

function sumOf({ looks }: Sweep): Accounts {
  let [current, earlier] = [0, 0];
  for (const one of looks.values()) {
    current += one.current;
    earlier += one.earlier;
  }
  return { current, earlier };
}

/** @returns null for a month that is gone */
async function lookAt(
  sweep: Sweep,
  place: MonthPlace,
  before: Look | undefined,
  onExpired: () => void,
): Promise<Look | null> {
  const { days, clock } = sweep;
  if (before !== undefined && !isDue(before, clock.now())) {
    const [present] = await days.store.read(place.series, [{ month: place.month, days: [] }]);
    if (present?.stamp === before.stamp) return before;
  }
  const stored = await days.store.whole(place);
  if (stored === null || stored.stamp === 0) return await lookAtRest(sweep, place, stored, before);
  const whole = openWhole(days, place, stored);
  // Of a newer release.
  if (whole === null) return { ...EMPTY, place, stamp: stored.stamp, atMs: clock.now() };
  const tidied = await tidy(sweep, whole, before?.unnamed ?? NONE);
  if (tidied.isExpired) onExpired();
  return tidied.look;
}

function isDue({ atMs, unnamed, isOpen, stamp }: Look, nowMs: number): boolean {
  return isOpen || stamp === 0 || unnamed.size > 0 || nowMs - atMs >= DAY_MS;
}

/** Without an index: large parts of a write that is under way, or what is left of a month that ended. */
async function lookAtRest(
  { days, clock }: Sweep,
  place: MonthPlace,
  stored: StoredWhole | null,
  before: Look | undefined,
): Promise<Look | null> {
  const names = [...(stored?.parts.keys() ?? [])];
  if (before?.stamp !== 0 || !names.every((name) => before.unnamed.has(name)))
    return { ...EMPTY, place, atMs: clock.now(), unnamed: new Set(names) };
  const isRemoved = await removeWhole(days, { place, stamp: 0 });
  return isRemoved ? null : { ...EMPTY, place, atMs: clock.now() };
}

/** Removes what is not needed, and gathers. */
async function tidy(sweep: Sweep, whole: WholeMonth, formerlyUnnamed: ReadonlySet<string>) {
  const { days, clock, retentionDays } = sweep;
  const { place, stored, stamp } = whole;
  // By a wrong clock earlier states would be lost for good.
  const oldest = clock.apartMs === 0 ? isoDay(dayAt(clock.now(), 'UTC') - retentionDays).slice(0, 7) : '';
  const readable = withoutOrphans(whole);
  const kept = place.month < oldest ? unrecorded(readable) : readable;
  const isExpired = kept !== readable;
  const gathered = isExpired ? null : await gatherIn(sweep, whole, kept);
  const { month: after, parts } =
    gathered === null || gathered === 'later' ? { ...NOTHING, month: kept } : gathered;
  // In two turns: a reader of the former index may still want them.
  const unnamed = unnamedParts(whole, after);
  const dropped = unnamed.filter((name) => formerlyUnnamed.has(name));
  const added = new Map<string, Buffer>();
  for (const [name, some] of parts) added.set(name, await days.encode(some));
  const isChanged = after !== whole.month || dropped.length > 0;
  const change = { added, dropped, ...(isExpired ? { endsInMs: ENDS_IN_MS } : {}) };
  const isWritten = isChanged && (await rewriteIfRoom(days, whole, after, change));
  const sizes = new Map(stored.parts);
  if (isWritten) {
    for (const name of dropped) sizes.delete(name);
    for (const [name, bytes] of added) sizes.set(name, bytes.length);
  }
  const look: Look = {
    place,
    atMs: clock.now(),
    fetchedOn: lastFetch(whole.month),
    ...accountsOf(whole, isWritten ? after : whole.month, sizes),
    // That of the write is not known.
    stamp: isWritten ? 0 : stamp,
    unnamed: new Set(unnamed.filter((name) => sizes.has(name))),
    isOpen: isChanged || gathered === 'later',
  };
  return { look, isExpired: isExpired && isWritten };
}

const NOTHING: Pick<Gathered, 'parts'> = { parts: new Map() };

/** Without earlier revisions that are damaged, or whose day is not in the index. @returns the same month if there are none */
function withoutOrphans({ month, stored }: WholeMonth): OpenMonth {
  const isOrphan = (day: number) => !month.before.has(day) || (month.days.get(day)?.earlier ?? 0) === 0;
  const orphans = [...stored.earlier.keys()].filter(isOrphan);
  if (orphans.length === 0) return month;
  return { ...month, before: new Map([...month.before, ...orphans.map((day) => [day, []] as const)]) };
}

/** @returns later: it was not looked at in this turn */
async function gatherIn(
  sweep: Sweep,
  whole: WholeMonth,
  month: OpenMonth,
): Promise<Gathered | null | 'later'> {
  const { days } = sweep;
  const names = partsToGather(month);
  if (names.size === 0) return null;
  if (sweep.gatheringsLeft === 0 || isTight(days.store.room())) return 'later';
  const parts = await readParts(days, whole, names);
  const gathered = await gather(month, parts, randomBuffer(NAME_BYTES).toString('hex'));
  if (gathered !== null) sweep.gatheringsLeft -= 1;
  return gathered;
}

async function rewriteIfRoom(...[days, whole, after, change]: Parameters<typeof rewrite>): Promise<boolean> {
  try {
    return await rewrite(days, whole, after, change);
  } catch (error) {
    if (error instanceof StoreUnavailable && error.why === 'no-room') return false;
    throw error;
  }
}

/** @returns its day, since the epoch */
function lastFetch({ days }: Month): number {
  const ends = [...days.values()].flatMap(({ check, passing }) => [
    check?.endedAt ?? 0,
    passing?.check.endedAt ?? 0,
  ]);
  return dayAt(Math.max(0, ...ends), 'UTC');
}

/** Earlier revisions of the oldest months go first; then whole months, those unused for longest first. */
async function makeRoom(sweep: Sweep, isStopped: () => boolean): Promise<void> {
  const { logger, days, looks } = sweep;
  const room = days.store.room();
  const excess = excessOf(sumOf(sweep), sweep, room);
  const oldest = [...looks.values()]
    .filter(({ earlier }) => earlier > 0)
    .sort((a, b) => (a.place.month < b.place.month ? -1 : 1));
  const past = await free(sweep, excess.earlier, oldest, 'earlier', isStopped);
  if (past.months > 0)
    logger.warn(
      past,
      isTight(room)
        ? 'Redis is almost full: removed earlier states of days from history, the oldest months first'
        : 'history is full: removed earlier states of days, the oldest months first, before history.retentionDays elapsed',
    );
  if (excess.current <= 0) return;
  const whole = await free(sweep, excess.current, await leastUsed(sweep), 'all', isStopped);
  if (whole.months > 0)
    logger.warn(whole, 'no room for stored days: removed the months that were unused for longest');
}

/** @returns months, those unused for longest first */
async function leastUsed({ days, looks }: Sweep): Promise<readonly Look[]> {
  const noted = await days.store.unused(Number.MAX_SAFE_INTEGER);
  const uses = new Map(noted.map((one) => [placeName(one), one.usedOn]));
  const lastUse = (look: Look) => Math.max(look.fetchedOn, uses.get(placeName(look.place)) ?? 0);
  return [...looks.values()]
    .filter(({ current }) => current > 0)
    .map((look) => ({ look, on: lastUse(look) }))
    .sort((a, b) => a.on - b.on || (a.look.place.month < b.look.place.month ? -1 : 1))
    .map(({ look }) => look);
}

/** @param excess bytes. @returns what was removed, up to which month */
async function free(
  sweep: Sweep,
  excess: number,
  candidates: readonly Look[],
  what: 'earlier' | 'all',
  isStopped: () => boolean,
) {
  let [months, bytes, upTo] = [0, 0, ''];
  for (const look of candidates) {
    if (bytes >= excess || isStopped()) break;
    // A month that others keep writing is passed over.
    const freed = await freeOne(sweep, look, what).catch(whenAway(() => 0));
    await turn();
    if (freed === 0) continue;
    months += 1;
    bytes += freed;
    if (look.place.month > upTo) upTo = look.place.month;
  }
  return { months, bytes, upTo };
}

/** @returns bytes; 0 if another writer was faster */
async function freeOne({ days, looks }: Sweep, look: Look, what: 'earlier' | 'all'): Promise<number> {
  const { place } = look;
  const stored = await days.store.whole(place);
  const whole = stored === null || stored.stamp === 0 ? null : openWhole(days, place, stored);
  if (whole === null) return 0;
  const after = withoutEarlier(withoutOrphans(whole));
  const shown = partsShown(after);
  const dropped = [...whole.stored.parts.keys()].filter((name) => !shown.has(name));
  const isFreed =
    what === 'all' ? await removeWhole(days, whole) : await rewrite(days, whole, after, { dropped });
  if (!isFreed) return 0;
  const current = what === 'all' ? 0 : look.current;
  looks.set(placeName(place), { ...look, stamp: 0, unnamed: NONE, current, earlier: 0 });
  return look.current - current + look.earlier;
}
