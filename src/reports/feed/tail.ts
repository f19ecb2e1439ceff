/**
 * The end of the feed in memory, for readers that wait: one for all readers of a process. It runs while there are readers, asks the
 * store once a second, and shortly after the news of a change.
 */
import type { Logger } from 'pino';
import { startTicks, startTimer, stopTicks, stopTimer, type Timer } from '../../lib/time.js';
import {
  type Changes,
  FEED_CHANNEL,
  FEED_START,
  type FeedEntry,
  type FeedPage,
} from '../../store/changes-port.js';
import { type Bus, whenAway } from '../../store/port.js';
import { type MadeEntry, type MakeEntry, sizeOf } from './messages.js';
import { isOf, type Offset, offsetAfter } from './offset.js';

export interface TailEntry extends FeedEntry {
  readonly made: MadeEntry;
}

/** A reader that waits. */
export interface Waiter {
  /** Of the entry up to which it has read. */
  readonly position: string;
  /** Whether an entry may have messages for it. */
  readonly takes: (made: MadeEntry) => boolean;
  /**
   * Called once: there are such entries, or the tail begins anew.
   * @param from the place after which they are; null: where it has read up to
   */
  readonly wake: (from: Offset | null) => void;
  /** Called each second. @param end the place up to which nothing was for it; null: where it has read up to */
  readonly tick: (end: Offset | null) => void;
}

interface TailParts {
  readonly changes: Pick<Changes, 'read' | 'newest'>;
  readonly bus: Pick<Bus, 'subscribe'>;
  readonly open: MakeEntry['open'];
  readonly logger: Logger;
}

interface End {
  readonly incarnation: string;
  /** The newest one; null: there is none. */
  readonly entry: FeedEntry | null;
  readonly sinceMs: number;
}

const TICK_MS = 1000;
/** A woken reader finds what came within this time in one answer. */
const GATHER_MS = 200;
/** Ticks without a waiting reader until it stops: one that polls is back by then. */
const LINGER_TICKS = 30;
const PAGE = 200;
/** Changes in memory. */
const KEPT = 1000;

export class FeedTail {
  readonly #parts: TailParts;
  readonly #waiters = new Set<Waiter>();
  #entries: TailEntry[] = [];
  /** The entry before those in memory; null: there is none, or it is not known. */
  #before: FeedEntry | null = null;
  /** As known at the last look; null: it does not run, or has not looked yet. */
  #end: End | null = null;
  #ticks: Timer | null = null;
  #gathering: Timer | undefined;
  #stopHearing = () => {};
  #idleTicks = 0;
  #looking: Promise<void> | null = null;

  constructor(parts: TailParts) {
    this.#parts = parts;
  }

  /** Number of waiting readers. */
  get size(): number {
    return this.#waiters.size;
  }

  /**
   * Entries after an offset of a whole entry.
   * @returns null where they are not all in memory
   */
  after(offset: Offset): { readonly entries: readonly TailEntry[]; readonly sinceMs: number } | null {
    const end = this.#end;
    if (end === null || offset.incarnation !== end.incarnation) return null;
    const { sinceMs } = end;
    if (end.entry !== null && isOf(offset, end.entry)) return { entries: [], sinceMs };
    if (this.#before !== null && isOf(offset, this.#before)) return { entries: this.#entries, sinceMs };
    const at = this.#entries.findIndex((one) => isOf(offset, one));
    return at < 0 ? null : { entries: this.#entries.slice(at + 1), sinceMs };
  }

  /**
   * Wakes a reader when there is something for it after its position.
   * @returns ends the wait
   */
  wait(waiter: Waiter): () => void {
    this.#begin();
    this.#waiters.add(waiter);
    // A reader of the store may be ahead of the last look.
    if (this.#end !== null && waiter.position < placeOf(this.#end.entry)) {
      const at = this.#entries.findIndex(({ position }) => position === waiter.position);
      const isFirst = waiter.position === placeOf(this.#before);
      const isBehind =
        (at < 0 && !isFirst) || this.#entries.slice(at + 1).some(({ made }) => waiter.takes(made));
      if (isBehind) this.#wake(waiter, null);
    }
    return () => void this.#waiters.delete(waiter);
  }

  stop(): void {
    if (this.#ticks === null) return;
    stopTicks(this.#ticks);
    stopTimer(this.#gathering);
    this.#ticks = this.#end = null;
    this.#gathering = undefined;
    this.#entries = [];
    this.#before = null;
    this.#stopHearing();
  }

  #begin(): void {
    if (this.#ticks !== null) return;
    this.#idleTicks = 0;
    const gather = () => this.#gather();
    this.#stopHearing = this.#parts.bus.subscribe(FEED_CHANNEL, gather, gather);
    this.#ticks = startTicks(() => this.#tick(), TICK_MS).unref();
    this.#look();
  }

  #tick(): void {
    this.#idleTicks = this.#waiters.size === 0 ? this.#idleTicks + 1 : 0;
    if (this.#idleTicks > LINGER_TICKS) {
      this.stop();
      return;
    }
    const end = this.#end && offsetAfter(this.#end.incarnation, this.#end.entry);
    for (const waiter of [...this.#waiters]) waiter.tick(end && end.position > waiter.position ? end : null);
    this.#look();
  }

  #gather(): void {
    this.#gathering ??= startTimer(() => {
      this.#gathering = undefined;
      this.#look();
    }, GATHER_MS).unref();
  }

  /** One at a time. Readers wait on while the store is away. */
  #look(): void {
    const { logger } = this.#parts;
    this.#looking ??= this.#lookOnce()
      .catch(
        whenAway((error) => logger.debug({ err: error }, 'the feed of changes cannot be read; retrying')),
      )
      .catch((error: unknown) => logger.error({ err: error }, 'failed to read the feed of changes; retrying'))
      .finally(() => {
        this.#looking = null;
      });
  }

  async #lookOnce(): Promise<void> {
    const { changes, open } = this.#parts;
    if (this.#end === null) return this.#start(await changes.newest());
    for (let isMore = true; isMore && this.#end !== null; ) {
      const page = await changes.read(placeOf(this.#end.entry), PAGE);
      if (!this.#goesOn(page)) return this.#start(await changes.newest());
      const fresh = page.entries.slice(this.#end.entry === null ? 0 : 1);
      isMore = page.entries.length === PAGE;
      const added: TailEntry[] = [];
      for (const one of fresh) added.push({ ...one, made: await open(one.text) });
      if (this.#end === null) return;
      const { incarnation, entry: before }: End = this.#end;
      this.#end = { incarnation, entry: fresh.at(-1) ?? before, sinceMs: page.oldestMs };
      this.#keep(added);
      for (const waiter of [...this.#waiters]) {
        const first = added.findIndex((one) => one.position > waiter.position && waiter.takes(one.made));
        if (first < 0) continue;
        // What came before was not for it: a reader that waited for long need not look for it.
        const from = offsetAfter(incarnation, added[first - 1] ?? before);
        this.#wake(waiter, from.position > waiter.position ? from : null);
      }
    }
  }

  /** Whether the known end is still in the feed. */
  #goesOn({ incarnation, entries: [first] }: FeedPage): boolean {
    if (incarnation !== this.#end?.incarnation) return false;
    const { entry } = this.#end;
    return entry === null || (first?.position === entry.position && first.text === entry.text);
  }

  /** At another end all readers look for themselves: what they have read may be lost. */
  #start({ incarnation, entries, oldestMs }: FeedPage): void {
    const entry = entries[0] ?? null;
    if (this.#ticks === null) return;
    const isLost = this.#end !== null;
    this.#end = { incarnation, entry, sinceMs: oldestMs };
    this.#before = entry;
    this.#entries = [];
    for (const waiter of [...this.#waiters])
      if (isLost || waiter.position < placeOf(entry)) this.#wake(waiter, null);
  }

  #keep(added: readonly TailEntry[]): void {
    this.#entries.push(...added);
    let count = this.#entries.reduce((sum, { made }) => sum + sizeOf(made), 0);
    const gone = this.#entries.findIndex((one) => {
      const isEnough = count <= KEPT;
      count -= sizeOf(one.made);
      return isEnough;
    });
    if (gone === 0) return;
    const from = gone < 0 ? this.#entries.length - 1 : gone;
    this.#before = this.#entries[from - 1] ?? this.#before;
    this.#entries = this.#entries.slice(from);
  }

  #wake(waiter: Waiter, from: Offset | null): void {
    if (this.#waiters.delete(waiter)) waiter.wake(from);
  }
}

const placeOf = (entry: FeedEntry | null): string => entry?.position ?? FEED_START;
