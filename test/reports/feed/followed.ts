/** Stored days with somebody who follows the feed: all that writes told, applied by key as clients do. */

import { eraseDays } from '../../../src/reports/days/erase-days.js';
import { decodeMonth } from '../../../src/reports/days/month.js';
import { type DayChange, type DaysEntry, decodeEntry } from '../../../src/reports/feed/entry.js';
import { tellsOf } from '../../../src/reports/feed/tell.js';
import { createTellKinds } from '../../../src/reports/feed/tell-kinds.js';
import type { KeptAccounts } from '../../../src/reports/history/erasures.js';
import { validRevisions, voidCut } from '../../../src/reports/history/revision.js';
import type { Told } from '../../../src/store/changes-port.js';
import type { DaysStore } from '../../../src/store/days-port.js';
import { openInMemory } from '../../support/shared-registry.js';
import { DATES, fetchedDay, openDays, PLACE, rowOf, SERIES } from '../days/stored-days.js';
import { RULES } from '../rows/entries.js';

/** A kind of reports, as the learner knows it. */
export interface Kind {
  readonly state: 'unknown' | 'proven' | 'refuted';
  readonly generation: string;
}

export interface Said {
  /** Of the month, from 1. */
  readonly day: number;
  /** 0: it has no rows. */
  readonly spent: number;
  readonly tail?: 'unconfirmed' | 'confirmed';
}

interface How {
  /** Of the answer: a cap may be found there later. */
  readonly answerRows?: number;
  readonly isRecorded?: boolean;
  readonly restatementDays?: number;
  /** As another replica knew it. */
  readonly kind?: Kind;
}

export async function openFollowed() {
  let kind: Kind = { state: 'proven', generation: 'g' };
  let caps: readonly number[] = [];
  let erasedMs = 0;
  const isErased = ({ fetchedFrom }: KeptAccounts) => fetchedFrom < erasedMs;
  const entries: DaysEntry[] = [];
  /** Of the month, by day: the id of its revision. */
  const held = new Map<number, string>();
  const note = (told: Told | undefined) => {
    if (told === undefined) return;
    const entry = decodeEntry(told.text) as DaysEntry;
    entries.push(entry);
    for (const { day, revision } of entry.changes) {
      if (revision === null) held.delete(day);
      else held.set(day, revision);
    }
  };
  const wrap = (store: DaysStore): DaysStore => ({
    ...store,
    async write(writes) {
      const done = await store.write(writes);
      for (const [at, one] of writes.entries()) if (done[at] === null) note(one.told);
      return done;
    },
    async remove(place, stamp, told) {
      const isDone = await store.remove(place, stamp);
      if (isDone) note(told);
      return isDone;
    },
  });
  const scene = openDays(isErased, wrap);
  const other = scene.open();
  const { clock, days, store } = scene;
  const { documents } = await openInMemory();
  const options = {
    days,
    learner: {
      provenGeneration: () => (kind.state === 'proven' ? kind.generation : null),
      stampOfAll: () => JSON.stringify(kind),
    },
    caps: { ofKind: () => caps, stampOfAll: () => caps.join() },
    documents,
  };
  const walk = createTellKinds(options);
  const index = async () => {
    const stored = (await store.whole(PLACE))?.index;
    return stored ? decodeMonth(stored) : null;
  };

  return {
    ...scene,
    documents,
    entries,
    held,
    index,
    walk: () => walk(() => false),
    /** As a process does that begins to lead. */
    walkAgain: () => createTellKinds(options)(() => false),
    know(next: Kind) {
      kind = next;
    },
    findCap(rows: number) {
      caps = [...caps, rows];
    },
    caps: () => caps,
    kind: () => kind,
    /** @param by which process */
    async fetch(
      said: readonly Said[],
      { answerRows = 10, isRecorded = true, restatementDays = 5, kind: known = kind }: How = {},
      by: 'own' | 'other' = 'own',
    ) {
      const atMs = clock.now();
      const fetched = said.map(({ day, spent, tail }) => {
        const date = DATES[day - 1] as string;
        const { body, header } = fetchedDay(date, spent === 0 ? [] : [rowOf(date, spent)], atMs, {
          answerRows,
        });
        const splitFrom = header.splitFrom && { ...header.splitFrom, generation: known.generation };
        return { body, header: { ...header, splitFrom, ...(tail && { emptyTail: tail }) } };
      });
      const rules = { ...RULES, restatementDays, caps };
      const options = { rules, isRecorded, tells: () => tellsOf(known) };
      return await (by === 'own' ? scene : other).fetch(fetched, options);
    },
    mark: (day: number) => days.mark(SERIES, [DATES[day - 1] as string], (all) => voidCut(all, { caps })),
    erase() {
      erasedMs = clock.now();
      return eraseDays({ days, isErased }, () => false);
    },
    /** What history shows as the newest, by day. */
    async shown(): Promise<Map<number, string>> {
      const states = await days.states(SERIES, DATES);
      return new Map(
        states.flatMap(({ revisions }, at) => {
          const { state, generation } = kind;
          const valid = state === 'proven' ? validRevisions(voidCut(revisions, { caps }), generation) : [];
          const latest = valid.at(-1);
          return latest === undefined ? [] : [[at + 1, latest.id] as const];
        }),
      );
    },
    /** Days that were told as final last, and those that the index has as such. */
    async finals() {
      const last = new Map<number, DayChange>();
      for (const { changes } of entries) for (const one of changes) last.set(one.day, one);
      const told = [...last.values()].filter(({ isFinal }) => isFinal).map(({ day }) => day);
      const stored = [...((await index())?.days ?? [])].filter(
        ([day, { final, latest }]) =>
          final && held.has(day) && (latest?.unrecorded === true || latest?.id === held.get(day)),
      );
      const byNumber = (a: number, b: number) => a - b;
      return { told: told.sort(byNumber), stored: stored.map(([day]) => day).sort(byNumber) };
    },
  };
}

export type Followed = Awaited<ReturnType<typeof openFollowed>>;
