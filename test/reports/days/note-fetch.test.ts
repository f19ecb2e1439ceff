/** What a fetch changes in a month: any fetches in any order leave what the newest of them said. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Day, orderOf } from '../../../src/reports/days/month.js';
import {
  type FetchedMonth,
  noteFetch,
  type OpenMonth,
  revisionsOf,
} from '../../../src/reports/days/note-fetch.js';
import { emptyMonth } from '../../../src/reports/days/open-months.js';
import { nameOf, type Part } from '../../../src/reports/days/part.js';
import type { Revision } from '../../../src/reports/history/revision.js';
import { FLAWED_MS } from '../../../src/reports/rows/flaws.js';
import { HOUR, NOON } from '../../support/test-clock.js';
import { dateIn, fetchOf, partOf, type SaidDay, saidDay, shownOf } from './fetches.js';

/** A month, the parts that are stored, and those of them that are lost. */
interface Stored {
  readonly month: OpenMonth;
  readonly parts: ReadonlyMap<string, Part>;
  readonly lost: ReadonlySet<string>;
}

const NOTHING: Stored = { month: emptyMonth('bounded'), parts: new Map(), lost: new Set() };

function note({ month, parts, lost }: Stored, fetched: FetchedMonth) {
  const noted = noteFetch(month, { ...fetched, unreadable: lost });
  const fresh = [...noted.parts].map(([name, days]) => [name, partOf(days)] as const);
  const after: Stored = { month: noted.month, parts: new Map([...parts, ...fresh]), lost };
  return { after, kinds: noted.days.map(({ kind }) => kind), added: [...noted.parts.keys()] };
}

const noted = (...fetches: readonly FetchedMonth[]): Stored =>
  fetches.reduce<Stored>((before, one) => note(before, one).after, NOTHING);
const textOf = ({ month, parts }: Stored, day: number, nowMs = NOON) =>
  shownOf(month, parts, day, nowMs)?.body.toString() ?? null;
const knownOf = ({ month }: Stored, day: number): Day => month.days.get(day) as Day;

function lose({ month, parts, lost }: Stored, name: string): Stored {
  const left = new Map(parts);
  left.delete(name);
  return { month, parts: left, lost: new Set([...lost, name]) };
}

/** As it was found to be cut at a cap. */
function voided({ month, ...rest }: Stored, day: number): Stored {
  const known = month.days.get(day);
  if (known?.latest == null) return { month, ...rest };
  const latest: Revision = { ...known.latest, void: 'cut' };
  return { month: { ...month, days: new Map(month.days).set(day, { ...known, latest }) }, ...rest };
}

describe('the same rows', () => {
  const first = noted(fetchOf(1, [{ day: 5, spent: 1 }]));

  it.each<[string, Stored, Partial<FetchedMonth>, Partial<SaidDay>]>([
    ['after a hard purge', first, {}, { more: { seq: 9 } }],
    [
      'of a new generation',
      first,
      {},
      { more: { splitFrom: { from: '', to: '', sortedHash: 'rows-1', generation: 'h' } } },
    ],
    ['after a revision that was cut', voided(first, 5), {}, {}],
    [
      'after they were not recorded',
      noted(fetchOf(1, [{ day: 5, spent: 1 }], { isRecorded: false })),
      {},
      {},
    ],
    ['while they are no longer recorded', first, { isRecorded: false }, {}],
  ])('%s keep the day with the new check, and are not stored again', (_when, before, more, said) => {
    const { after, added } = note(before, fetchOf(2, [{ day: 5, spent: 1, ...said }], more));
    expect(added).toEqual([]);
    const { latest, check } = knownOf(after, 5);
    expect(latest).toMatchObject({ part: 'p1', digest: 'rows-1' });
    expect(latest).not.toHaveProperty('void');
    expect(check).toMatchObject({ order: 2000, seq: said.more?.seq ?? 0 });
    expect(check?.generation).toBe(said.more?.splitFrom?.generation ?? 'g');
    expect(textOf(after, 5)).toBe(textOf(before, 5));
  });

  it('after the erasure of their account are stored again, as another state', () => {
    const again = fetchOf(2, [{ day: 5, spent: 1, more: { seq: 9 } }]);
    const isErased: FetchedMonth['isErased'] = ({ seq }) => seq < 9;
    for (const isRecorded of [true, false]) {
      const { after, added } = note(first, { ...again, isErased, isRecorded });
      const revisions = revisionsOf(after.month, 5).map(({ part, seq }) => [part, seq]);
      expect([added, revisions]).toEqual([['p2'], [['p2', 9]]]);
    }
  });

  it('in another order are no new revision, and the new bytes are shown', () => {
    const { after, kinds } = note(first, fetchOf(2, [{ day: 5, spent: 1, reversed: true }]));
    expect(kinds).toEqual(['confirmed']);
    const [one, ...others] = revisionsOf(after.month, 5);
    expect([one?.id, others]).toEqual([first.month.days.get(5)?.latest?.id, []]);
    expect(textOf(after, 5)).toBe(saidDay({ day: 5, spent: 1, reversed: true }, 2).body.toString());
    expect(one?.hash).not.toBe(first.month.days.get(5)?.latest?.hash);
  });

  it('whose part cannot be read are stored under a new name, which older revisions of them get too', () => {
    const before = noted(
      fetchOf(1, [{ day: 5, spent: 1 }]),
      fetchOf(2, [{ day: 5, spent: 2 }]),
      fetchOf(3, [{ day: 5, spent: 1 }]),
    );
    expect(revisionsOf(before.month, 5).map(({ part }) => part)).toEqual(['p1', 'p2', 'p3']);
    const { after, added } = note(lose(lose(before, 'p1'), 'p3'), fetchOf(4, [{ day: 5, spent: 1 }]));
    expect(added).toEqual(['p4']);
    expect(revisionsOf(after.month, 5).map(({ part }) => part)).toEqual(['p4', 'p2', 'p4']);
  });

  it('that come back after others, and whose part cannot be read, give it back to their older revision', () => {
    const before = noted(fetchOf(1, [{ day: 5, spent: 1 }]), fetchOf(2, [{ day: 5, spent: 2 }]));
    const { after } = note(lose(before, 'p1'), fetchOf(3, [{ day: 5, spent: 1 }]));
    expect(revisionsOf(after.month, 5).map(({ part }) => part)).toEqual(['p3', 'p2', 'p3']);
  });

  it('of a flawed answer whose part cannot be read are stored again', () => {
    const flawed: SaidDay = {
      day: 5,
      spent: 1,
      more: { flaws: [{ code: 'error_member', name: 'error' }] as never },
    };
    const { after } = note(lose(first, 'p1'), fetchOf(2, [flawed]));
    expect(textOf(after, 5)).toBe(textOf(first, 5));
  });
});

it('days that are over share a part, and one that is not has its own', () => {
  const { month } = noted(
    fetchOf(
      1,
      [19, 20, 21].map((day) => ({ day, spent: 1 })),
    ),
  );
  expect([19, 20, 21].map((day) => month.days.get(day)?.latest?.part)).toEqual(['p1', 'p1', 'p1-2']);
});

it('a flawed day beside others of its answer, noted again where it is stored, hides none of them', () => {
  const flaws = [{ code: 'rows_capped', rows: 2 }] as never;
  const fetched = fetchOf(1, [
    { day: 5, spent: 1 },
    { day: 6, spent: 2, more: { flaws } },
  ]);
  const stored = noted(fetched);
  const again = note(stored, fetched).after;
  expect([5, 6].map((day) => textOf(again, day))).toEqual([5, 6].map((day) => textOf(stored, day)));
});

it('a fetch that began before the latest changes nothing, and a wrong clock five minutes ahead is ignored', () => {
  const late = fetchOf(1, [{ day: 5, spent: 1 }]);
  const ahead = fetchOf(299_000, [{ day: 5, spent: 2 }]);
  const { after, kinds } = note(noted(ahead), late);
  expect([kinds, after.month.days]).toEqual([['late'], noted(ahead).month.days]);
  const wrong = noted(fetchOf(400_000, [{ day: 5, spent: 2 }]));
  expect(note(wrong, late).kinds).toEqual(['appended']);
});

it('a flawed answer after a fetch whose clock was five minutes ahead is shown', () => {
  const wrong = noted(fetchOf(400_000, [{ day: 5, spent: 2 }]));
  const flaws = [{ code: 'rows_capped', rows: 2 }] as never;
  const flawed = fetchOf(1, [{ day: 5, spent: 3, more: { flaws, fetchedAt: NOON } }]);
  const { after, kinds } = note(wrong, flawed);
  expect([kinds, knownOf(after, 5).check?.order]).toEqual([['passing'], 0]);
  expect(textOf(after, 5)).toBe(textOf(noted(fetchOf(1, [{ day: 5, spent: 3 }])), 5));
});

it('a fetch that lasted longer than five minutes changes nothing of a day that a later one brought', () => {
  const minutes = (count: number) => count * 60_000;
  const long = fetchOf(minutes(1), [{ day: 5, spent: 1 }], { clockUs: minutes(8) * 1000 });
  const newer = noted(fetchOf(minutes(7), [{ day: 5, spent: 2 }]));
  const { after, kinds } = note(newer, long);
  expect([kinds, after.month.days]).toEqual([['late'], newer.month.days]);
});

it('an order five minutes ahead of the store, given by a wrong clock, makes a fetch late for known days', () => {
  const clockUs = 1000;
  const ahead = fetchOf(300_002, [{ day: 5, spent: 2 }], { clockUs });
  const known = noted(fetchOf(1, [{ day: 5, spent: 1 }]));
  expect(note(known, ahead).kinds).toEqual(['late']);
  expect(note(NOTHING, ahead).kinds).toEqual(['appended']);
  expect(note(known, fetchOf(300_001, [{ day: 5, spent: 2 }], { clockUs })).kinds).toEqual(['appended']);
});

const DAYS = [19, 20, 21];

const saying = fc.record({
  day: fc.constantFrom(...DAYS),
  spent: fc.nat(2),
  reversed: fc.boolean(),
  as: fc.constantFrom('state', 'state', 'state', 'flawed', 'forgotten'),
  generation: fc.constantFrom('g', 'g', 'g', 'h'),
});
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('fetch' as const),
      days: fc.uniqueArray(saying, { minLength: 1, maxLength: 3, selector: ({ day }) => day }),
      isRecorded: fc.constantFrom(true, true, true, false),
      /** Noted so much later than it began: others that began later come first. */
      delay: fc.nat(2),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('void' as const), day: fc.constantFrom(...DAYS) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lose' as const), day: fc.constantFrom(...DAYS) }) },
);
type Fetching = Extract<typeof step extends fc.Arbitrary<infer T> ? T : never, { kind: 'fetch' }>;

/** What the newest fetches said of a day. */
interface Said {
  readonly order: number;
  /** The newest state, and what is shown in its place for a while. */
  readonly state: string | null;
  readonly passing: { readonly text: string; readonly isFlawed: boolean } | null;
  /** Of recorded states, without equal ones after each other; `null` after one that counts no more. */
  readonly recorded: readonly (string | null)[];
}
const UNSAID: Said = { order: 0, state: null, passing: null, recorded: [] };

function madeOf({ days, isRecorded }: Fetching, at: number): FetchedMonth {
  const said = days.map(({ day, spent, reversed, as, generation }): SaidDay => {
    const splitFrom = { from: dateIn(day), to: dateIn(day), sortedHash: `rows-${spent}`, generation };
    const flaws = [{ code: 'rows_capped', rows: 2 }] as never;
    const forgotten = {
      code: 'beyond_retention' as const,
      days: [dateIn(day)],
      sinceMs: NOON,
      seenMs: NOON,
      final: true,
      againMs: HOUR,
    };
    const mark = as === 'flawed' ? { flaws } : as === 'forgotten' ? { forgotten } : {};
    return { day, spent, reversed, more: { splitFrom, ...mark } };
  });
  return fetchOf(at, said, { isRecorded });
}

/** The model: the newest fetch of each day is believed. */
function saidAfter(before: ReadonlyMap<number, Said>, fetching: Fetching, at: number) {
  const after = new Map(before);
  for (const one of fetching.days) {
    const known = after.get(one.day) ?? UNSAID;
    if (known.order > at) continue;
    const text = saidDay(one, at).body.toString();
    if (one.as !== 'state') {
      after.set(one.day, { ...known, order: at, passing: { text, isFlawed: one.as === 'flawed' } });
      continue;
    }
    const name = `${one.spent} ${one.generation}`;
    const isKnown = !fetching.isRecorded || known.recorded.at(-1) === name;
    const recorded = isKnown ? known.recorded : [...known.recorded, name];
    after.set(one.day, { order: at, state: text, passing: null, recorded });
  }
  return after;
}

const shownAt = ({ state, passing }: Said, nowMs: number, at: number) =>
  passing === null || (passing.isFlawed && nowMs - (NOON + at) >= FLAWED_MS) ? state : passing.text;

/** Recorded states have the rows that they name, if these are not lost. */
function checkRevisions({ month, parts, lost }: Stored, day: number, { recorded }: Said): void {
  const kept = revisionsOf(month, day).filter(({ unrecorded }) => unrecorded !== true);
  expect(kept.map(({ digest, generation }) => `${digest.slice(5)} ${generation}`)).toEqual(
    recorded.filter((one) => one !== null),
  );
  for (const { part, digest } of kept)
    if (part !== null && !lost.has(part)) expect(parts.get(part)?.has(nameOf(day, digest))).toBe(true);
}

describe('any fetches, noted in any order', () => {
  it('leave what the newest of them said, and the states before it', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 14 }), (steps) => {
        let stored = NOTHING;
        let said: ReadonlyMap<number, Said> = new Map();
        const inTurn = steps
          .map((one, n) => ({ one, at: n + 1, turn: n + (one.kind === 'fetch' ? one.delay * 1.5 : 0) }))
          .sort((a, b) => a.turn - b.turn);
        for (const { one, at } of inTurn) {
          if (one.kind === 'fetch') {
            const made = madeOf(one, at);
            const before = stored;
            const { after, kinds } = note(before, made);
            // Noted again, as where a write under way is read along: nothing changes.
            const again = note(after, made).after;
            expect(again.month).toEqual(after.month);
            said = saidAfter(said, one, at);
            for (const [n, { day }] of one.days.entries()) {
              const isLate = orderOf(before.month.days.get(day) ?? knownOf(after, day)) > made.order;
              expect(kinds[n] === 'late').toBe(isLate);
              if (isLate) expect(after.month.days.get(day)).toBe(before.month.days.get(day));
              // Whatever was lost before.
              else
                for (const view of [after, again])
                  expect(textOf(view, day)).toBe(saidDay(one.days[n] as SaidDay, at).body.toString());
            }
            stored = after;
          } else if (one.kind === 'void') {
            stored = voided(stored, one.day);
            const known = said.get(one.day);
            const isState = stored.month.days.get(one.day)?.latest?.unrecorded !== true;
            if (known && isState && known.recorded.length > 0)
              said = new Map(said).set(one.day, { ...known, recorded: [...known.recorded, null] });
          } else {
            const name = shownOf(stored.month, stored.parts, one.day, NOON) && stored.month.days.get(one.day);
            const part = name?.passing?.part ?? name?.latest?.part;
            if (part != null) stored = lose(stored, part);
          }
          for (const [day, known] of said)
            for (const nowMs of [NOON, NOON + HOUR]) {
              const shown = textOf(stored, day, nowMs);
              const named = knownOf(stored, day);
              const mayBeLost = [named.latest?.part, named.passing?.part].some(
                (p) => p != null && stored.lost.has(p),
              );
              const expected = shownAt(known, nowMs, known.order);
              if (shown !== null || !mayBeLost) expect(shown).toBe(expected);
            }
          for (const [day, known] of said) checkRevisions(stored, day, known);
        }
      }),
    );
  });
});
