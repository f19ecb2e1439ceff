/**
 * Writes changes of months: those of one process together, in batches. Changes that come to an idle process together go at
 * once; those of the next 20 ms go in one batch. A month that another writer has changed is decided again, on what it has become.
 */
import { randomShare } from '../../lib/chance.js';
import { sleep, startTimer, type Timer, turn, uptimeMs } from '../../lib/time.js';
import type { Told } from '../../store/changes-port.js';
import type { DaysStore, MonthPlace, MonthWrite } from '../../store/days-port.js';
import { toldOf } from '../feed/tell.js';
import { type Day, encodeEarlier, encodeMonth, type Month, orderOf } from './month.js';
import type { NotedMonth } from './note-fetch.js';
import { type KnownMonth, type MonthChange, type OpenMonths, placeName } from './open-months.js';
import type { PartDay } from './part.js';

const GATHERING_MS = 20;
/** Under concurrent writers; each round at least one of them succeeds. */
const TRIES = 5;
/** Longest pause after the second loss, doubled after each further one: writers of a month must not meet again. */
const PAUSE_MS = 10;
/** Of one call of the store: a larger one would delay others. */
const CALL_BYTES = 1_048_576;

export class LostToOthers extends Error {
  override readonly name = 'LostToOthers';
}

interface Waiting {
  readonly change: MonthChange;
  readonly resolve: (noted: NotedMonth) => void;
  readonly reject: (error: unknown) => void;
}

export interface WriteOptions {
  readonly store: Pick<DaysStore, 'write' | 'earlier'>;
  readonly months: OpenMonths;
  readonly encode: (days: readonly PartDay[]) => Promise<Buffer>;
  readonly now: () => number;
}

/** @returns writes a change; rejects with {@link LostToOthers} or StoreUnavailable */
export function createWriteMonth(options: WriteOptions): (change: MonthChange) => Promise<NotedMonth> {
  const waiting = new Map<string, Waiting[]>();
  const busy = new Set<string>();
  let startedMs = Number.NEGATIVE_INFINITY;
  let timer: Timer | null = null;

  function start(): void {
    const ready = [...waiting].filter(([name]) => !busy.has(name));
    if (timer !== null || ready.length === 0) return;
    const leftMs = startedMs + GATHERING_MS - uptimeMs();
    if (leftMs > 0) {
      timer = startTimer(() => {
        timer = null;
        start();
      }, leftMs);
      return;
    }
    startedMs = uptimeMs();
    for (const [name] of ready) {
      waiting.delete(name);
      busy.add(name);
    }
    const batch = ready.map(([, all]) => all);
    void writeBatch(options, batch).finally(() => {
      for (const [name] of ready) busy.delete(name);
      start();
    });
  }

  return (change) =>
    new Promise((resolve, reject) => {
      const name = placeName(change.place);
      waiting.set(name, [...(waiting.get(name) ?? []), { change, resolve, reject }]);
      // All months of one answer go in one batch.
      queueMicrotask(start);
    });
}

/** @param batch changes by month. Settles all of them; never rejects */
async function writeBatch(options: WriteOptions, batch: readonly (readonly Waiting[])[]): Promise<void> {
  let left = batch;
  try {
    for (let tries = 0; left.length > 0 && tries < TRIES; tries += 1) {
      if (tries > 1) {
        await sleep(randomShare() * PAUSE_MS * 2 ** (tries - 2));
        // What the last loss told is old by now.
        for (const [one] of left) if (one !== undefined) options.months.forget(one.change.place);
      }
      left = await writeOnce(options, left);
    }
    for (const one of left.flat())
      one.reject(new LostToOthers('every attempt lost to a write of another process'));
  } catch (error) {
    for (const one of batch.flat()) one.reject(error);
  }
}

/** A month with all of its changes. */
interface Drafted {
  readonly all: readonly Waiting[];
  readonly before: KnownMonth;
  readonly noted: readonly NotedMonth[];
  readonly after: NotedMonth['month'];
}

/** @returns changes of months that others wrote meanwhile */
async function writeOnce(
  options: WriteOptions,
  batch: readonly (readonly Waiting[])[],
): Promise<readonly (readonly Waiting[])[]> {
  const { months, store } = options;
  const drafts = (await Promise.all(batch.map((all) => draft(options, all)))).filter((one) => one !== null);
  const changed = drafts.filter(({ before, after }) => after !== before.month);
  const writes = await Promise.all(changed.map((one) => writeOf(options, one)));
  const lost: (readonly Waiting[])[] = [];
  for (const { all, noted, before, after } of drafts) if (after === before.month) settle(all, noted);
  for (const group of groupsOf(writes)) {
    const written = await store.write(group.map(({ write }) => write));
    for (const [at, { draft: made, news }] of group.entries()) {
      const present = written[at] ?? null;
      const { place } = (made.all[0] as Waiting).change;
      // Its new stamp is not known.
      if (present === null) {
        months.forget(place);
        if (news !== undefined) news.locks.isDone = true;
        settle(made.all, made.noted);
      } else {
        months.note(place, present === 'none' ? null : present);
        lost.push(made.all);
      }
    }
    // Requests go first.
    await turn();
  }
  return lost;
}

function settle(all: readonly Waiting[], noted: readonly NotedMonth[]): void {
  for (const [at, one] of all.entries()) one.resolve(noted[at] as NotedMonth);
}

/** @returns null for a month of another release; its changes are settled */
async function draft({ months, store }: WriteOptions, all: readonly Waiting[]): Promise<Drafted | null> {
  const { place } = (all[0] as Waiting).change;
  const days = [...new Set(all.flatMap(({ change }) => change.days))];
  const known = months.knownFor(place, days);
  const atHand = known && drafted(all, known);
  // Nothing to write: only a read tells whether the month at hand is that of the store.
  if (atHand !== undefined && atHand.after !== atHand.before.month) return atHand;
  const before = months.note(place, await readEarlier(store, place, days));
  if (before !== null) return drafted(all, before);
  for (const one of all) one.reject(new LostToOthers('the month was written by a newer release'));
  return null;
}

function drafted(all: readonly Waiting[], before: KnownMonth): Drafted {
  const noted: NotedMonth[] = [];
  let after = before.month;
  for (const { change } of all) {
    const next = change.apply(after);
    noted.push(next);
    after = next.month;
  }
  return { all, before, noted, after };
}

async function readEarlier(store: WriteOptions['store'], place: MonthPlace, days: readonly number[]) {
  const found = await store.earlier(place, days);
  return found && { ...found, parts: new Map() };
}

async function writeOf({ encode, now }: WriteOptions, made: Drafted) {
  const { all, before, noted, after } = made;
  const fresh = new Map(noted.flatMap(({ parts }) => [...parts]));
  const parts = new Map<string, Buffer>();
  for (const [name, days] of fresh) if (isNamed(name, after)) parts.set(name, await encode(days));
  const changes = all.map(({ change }) => change);
  const { place } = (all[0] as Waiting).change;
  const order = Math.max(...changes.map((change) => change.order));
  const write = monthWrite(place, before, after, {
    parts,
    dropped: [],
    order,
    told: toldOf(place, before.month, after, { at: now(), order }),
    ttlMs: Math.max(...changes.map(({ ttlMs }) => ttlMs)),
  });
  // The write can end the locks of one fetch; the others are released after it.
  const news = changes.find((change) => change.news !== undefined)?.news;
  const release = news && { owner: news.locks.owner, names: news.locks.names, news: news.message };
  const bytes = write.index.length + [...parts.values()].reduce((sum, { length }) => sum + length, 0);
  return { draft: made, write: release ? { ...write, release } : write, news, bytes };
}

/**
 * @param before as it is stored. @param ttlMs applies if history records nothing of the month
 * @param told null: the feed of changes is told nothing
 */
export function monthWrite(
  place: MonthPlace,
  before: KnownMonth,
  after: KnownMonth['month'],
  {
    parts,
    dropped,
    order,
    ttlMs,
    told,
  }: Pick<MonthWrite, 'parts' | 'dropped' | 'order'> & {
    readonly ttlMs: number;
    readonly told: Told | null;
  },
): MonthWrite {
  const sizeOf = (name: string) => parts.get(name)?.length ?? before.month.sizes.get(name) ?? 0;
  const sizes = new Map([...partsShown(after)].map((name) => [name, sizeOf(name)]));
  const earlier = new Map(
    [...after.before]
      .filter(([day, revisions]) => before.month.before.get(day) !== revisions)
      .map(([day, revisions]) => [day, revisions.length === 0 ? null : encodeEarlier(revisions)]),
  );
  return {
    ...place,
    stamp: before.stamp,
    parts,
    earlier,
    dropped,
    order: Math.max(order, ...[...after.days.values()].map(orderOf)),
    index: encodeMonth({ ...after, sizes }),
    named: namedIn(after, sizes),
    ttlMs: [...after.days.values()].some(isRecorded) ? null : Math.max(1, ttlMs),
    ...(told !== null && { told }),
  };
}

function isRecorded({ latest, earlier }: Day): boolean {
  return earlier > 0 || (latest !== null && latest.unrecorded !== true);
}

/** Names of the parts that plain reports show. */
export function partsShown({ days }: Month): ReadonlySet<string> {
  return new Set(
    [...days.values()].flatMap(({ latest, passing }) =>
      [latest?.part, passing?.part].filter((name) => name != null),
    ),
  );
}

/** Not so of what a later change of the same batch has replaced. */
function isNamed(name: string, after: KnownMonth['month']): boolean {
  return (
    partsShown(after).has(name) ||
    [...after.before.values()].some((all) => all.some(({ part }) => part === name))
  );
}

function namedIn({ days }: Month, sizes: ReadonlyMap<string, number>): MonthWrite['named'] {
  return new Map(
    [...days].flatMap(([day, { latest, check, passing }]) => {
      const isPassing = passing !== undefined && passing.check.order >= (check?.order ?? 0);
      const name = isPassing ? passing.part : (latest?.part ?? null);
      return name === null ? [] : [[day, { name, bytes: sizes.get(name) ?? 0 }] as const];
    }),
  );
}

/** In calls of at most {@link CALL_BYTES}; a single month may exceed it. */
function groupsOf<W extends { readonly bytes: number }>(writes: readonly W[]): W[][] {
  const groups: W[][] = [];
  let room = 0;
  for (const one of writes) {
    room -= one.bytes;
    const open = groups.at(-1);
    if (open !== undefined && room >= 0) open.push(one);
    else {
      groups.push([one]);
      room = CALL_BYTES - one.bytes;
    }
  }
  return groups;
}
