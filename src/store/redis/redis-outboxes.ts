/**
 * The feed of changes in a Redis cluster, where months and the stream are in different slots. A write appends to the outbox of its
 * month, a stream in its slot, whose ids are the numbers of the entries. A script in the slot of the feed publishes: it appends to
 * the feed what it has not appended before, and remembers the numbers (hash `published`). So each entry is told once, in the order
 * of its month, whoever publishes, and however late.
 *
 * Before a write its month is noted (sorted set `notes`: the time of the last write or publication). The writer publishes after its
 * write; the leader publishes for a writer that died. A month whose note is a minute old is published once more, as the slot of the
 * feed may have lost its last writes in a failover, and the numbers with them; then its outbox is cleared and its note removed.
 */
import { randomBuffer } from '../../lib/chance.js';
import { FEED_START, positionOf, type Told } from '../changes-port.js';
import { type MonthPlace, ORDER_LEAD_MAX_US } from '../days-port.js';
import { whenAway } from '../port.js';
import {
  endNote,
  forgetPublished,
  notedMonths,
  noteMonths,
  publishTold,
  tendOutbox,
} from './changes-scripts.js';
import { type ChangesKeys, type Keys, memberOf, placeOfMember } from './keys.js';
import type { Link } from './link.js';
import { pairsOf } from './script.js';
import { walkKeys } from './walk-keys.js';

/** A writer that has not published after this time may have died; outboxes are kept for that time after a publication. */
const [WRITER_MS, KEPT_MS] = [1_000, 60_000];
/** Numbers are remembered as long as a publisher may stall, or a clock be behind after a failover. */
const REMEMBERED_MS = 600_000;
const DAY_MS = 86_400_000;
/** Months published at once; members and fields of a page. */
const [AT_ONCE, PAGE] = [20, 1000];
const INCARNATION_BYTES = 8;

/** Arguments of a write that tells nothing. */
export const NOTHING = ['', 0, '', ''] as const;

export const newIncarnation = (): string => randomBuffer(INCARNATION_BYTES).toString('hex');

/** Of an id of Redis. */
export function positionIn(id: string): string {
  if (id === '') return FEED_START;
  const [high, low] = id.split('-');
  return positionOf(Number(high), Number(low));
}

export type Calls = Pick<Link, 'call' | 'servers' | 'isCluster'>;

/** How a write of days tells. */
export interface Teller {
  /** Before the writes of these months. */
  begin(places: readonly MonthPlace[]): Promise<void>;
  /** For the script: further keys, and arguments. */
  keys(place: MonthPlace, told: Told | undefined): readonly string[];
  args(told: Told | undefined): readonly (string | number)[];
  /** After the writes of these months. */
  end(places: readonly MonthPlace[]): Promise<void>;
}

export interface Announcing {
  /** For scripts; empty: the bus is on another server. */
  channel(): string;
  /** What a script could not announce. */
  rest(): Promise<void>;
}

/** @param links of the feed, and of the days */
export function createOutboxes(
  { link, days }: { readonly link: Calls; readonly days: Calls },
  { changes: keys, days: { placeOf } }: Pick<Keys, 'changes' | 'days'>,
  announcing: Announcing,
) {
  const publishMonth = createPublishMonth(link, keys, announcing);
  /** Months whose note could not be made. */
  const owed = new Set<string>();
  let lookedTo = '0';

  async function note(members: readonly string[]): Promise<void> {
    for (const member of members) owed.add(member);
    const all = [...owed];
    if (all.length > 0) await noteMonths(days, [keys.notes], ['', 0, ...all]);
    for (const member of all) owed.delete(member);
  }

  /** What is a minute old is cleared, unless something of it was missing in the feed. */
  async function settle(member: string, score: string): Promise<void> {
    const place = placeOfMember(member);
    const { ids, appended } = await publishMonth(place);
    if (appended > 0) return;
    if (ids.length > 0) await link.call('xdel', (client) => client.xdel(keys.outbox(place), ...ids));
    await endNote(link, [keys.notes], [member, score]);
  }

  async function publishNoted(isStopped: () => boolean): Promise<void> {
    for (let isOver = false; !isOver && !isStopped(); ) {
      const [fresh, old] = (await notedMonths(link, [keys.notes], [lookedTo, WRITER_MS, KEPT_MS, PAGE])).map(
        pairsOf,
      );
      const work = await Promise.allSettled([
        inBatches(old ?? [], isStopped, ([member, score]) => settle(member, score)),
        inBatches(fresh ?? [], isStopped, ([member]) => publishMonth(placeOfMember(member))),
      ]);
      // Those of a slot that is away are settled when they are a minute old.
      if (!isStopped()) lookedTo = fresh?.at(-1)?.[1] ?? lookedTo;
      for (const one of work) if (one.status === 'rejected') throw one.reason;
      isOver = Math.max(fresh?.length ?? 0, old?.length ?? 0) < PAGE;
    }
  }

  /** Notes what an outbox has without a note. */
  async function noteAll(isStopped: () => boolean): Promise<void> {
    for await (const found of walkKeys(link, keys.anyOutbox, isStopped)) {
      const places = found.keys.map(placeOf);
      const filled: string[] = [];
      await inBatches(places, isStopped, async (place) => {
        if ((await tendOutbox(link, [keys.outbox(place)], [2 * DAY_MS])) > 0) filled.push(memberOf(place));
      });
      if (filled.length > 0) await noteMonths(link, [keys.notes], ['NX', WRITER_MS, ...filled]);
    }
  }

  async function forget(isStopped: () => boolean): Promise<void> {
    for (let [cursor, isOver] = ['0', false]; !isOver && !isStopped(); isOver = cursor === '0')
      cursor = await forgetPublished(link, [keys.published, keys.notes], [cursor, DAY_MS, PAGE]);
  }

  const teller: Teller = {
    // The month is written all the same: the leader finds it within the hour, and the next write notes it.
    begin: (places) => note(places.map(memberOf)).catch(whenAway(() => {})),
    keys: (place, told) => (told === undefined ? [] : [keys.outbox(place)]),
    args: (told) => (told === undefined ? NOTHING : [told.text, told.count, '', '']),
    async end(places) {
      // Not awaited: the writes are made. The leader does what fails, and tells of the error.
      Promise.all(places.map(publishMonth)).catch(() => {});
    },
  };
  return {
    teller,
    async publish(everything: boolean, isStopped: () => boolean): Promise<void> {
      if (everything) await noteAll(isStopped);
      await publishNoted(isStopped);
      if (everything) await forget(isStopped);
    },
  };
}

function createPublishMonth(link: Calls, keys: ChangesKeys, announcing: Announcing) {
  const feed = [keys.stream, keys.meta, keys.published, keys.notes];
  return async (place: MonthPlace) => {
    const entries = await link.call('xrange', (client) => client.xrange(keys.outbox(place), '-', '+'));
    const ids = entries.map(([id]) => id);
    if (ids.length === 0) return { ids, appended: 0 };
    const appended = await publishTold(link, feed, [
      ...[memberOf(place), newIncarnation(), announcing.channel(), REMEMBERED_MS, ORDER_LEAD_MAX_US / 1000],
      ...entries.flatMap(([id, [, text = '', , count = '']]) => [positionIn(id), count, text]),
    ]);
    if (appended > 0) await announcing.rest();
    return { ids, appended };
  };
}

/** @throws the first error, after all have ended */
async function inBatches<T>(
  all: readonly T[],
  isStopped: () => boolean,
  work: (one: T) => Promise<unknown>,
): Promise<void> {
  const failed: unknown[] = [];
  for (let at = 0; at < all.length && !isStopped(); at += AT_ONCE)
    for (const one of await Promise.allSettled(all.slice(at, at + AT_ONCE).map(work)))
      if (one.status === 'rejected') failed.push(one.reason);
  if (failed.length > 0) throw failed[0];
}
