/**
 * Which shapes of periods were seen to agree, by kind and account. A proof asks for a few periods of one account. A platform may
 * still sample long periods, invoice whole months, roll up whole weeks, answer recent days by another path, or treat one account
 * differently. So a join is served only if its period and the answers that its days are from have shapes that were compared with
 * each other for its account. Documents shared by all replicas.
 */
import Type from 'typebox';
import { createLastUsed } from '../../lib/last-used.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Documents } from '../../store/port.js';
import { mergeDocument } from '../../store/shared-tallies.js';
import { dayNumber, isoDay } from '../query/days.js';
import { digest } from '../query/platform-call.js';

const CLASSES = [7, 14, 31, 62, 92];

/** The length class of a period in days: its upper bound. */
export function lengthClass(days: number): number {
  return CLASSES.find((most) => days <= most) ?? Number.POSITIVE_INFINITY;
}

/**
 * What a platform may answer differently: the length class of a period, and whether it reaches days that still change; and the same
 * of whole months, or of weeks from a Monday or a Sunday.
 * @param firstChanging the first day that still changed when it was fetched, as a day number
 */
export function shapesOf(from: string, to: string, firstChanging: number): readonly string[] {
  const [first, last] = [dayNumber(from) as number, dayNumber(to) as number];
  const days = last - first + 1;
  const shape = `${lengthClass(days)}${last >= firstChanging ? 'r' : ''}`;
  // Day 0 was a Thursday.
  const weekday = first % 7;
  const areWeeks = days % 7 === 0 && (weekday === 4 || weekday === 3);
  const areMonths = from.endsWith('-01') && isoDay(last + 1).endsWith('-01');
  return [shape, ...(areWeeks ? [`${shape}w${weekday}`] : []), ...(areMonths ? [`${shape}m`] : [])];
}

/** Shapes that agree, in groups. */
type Groups = readonly (readonly string[])[];

/** Merges the groups that have a shape of `shapes`. @returns the same value if they are in one group */
function connect(groups: Groups, shapes: readonly string[]): Groups {
  if (groups.some((group) => shapes.every((shape) => group.includes(shape)))) return groups;
  const touched = groups.filter((group) => group.some((shape) => shapes.includes(shape)));
  const merged = [...new Set([...touched.flat(), ...shapes])].sort();
  return [...groups.filter((group) => !touched.includes(group)), merged];
}

const ComparedForm = recordForm(
  Type.Object({
    form: Type.Literal(1),
    groups: Type.Array(Type.Array(Type.String())),
    /** The week of the last paid comparison, since the epoch, and how many there were. */
    week: Type.Integer(),
    watched: Type.Integer(),
  }),
);
type Compared = RecordOf<typeof ComparedForm>;
const NOTHING: Compared = { form: 1, groups: [], week: -1, watched: 0 };

const keyOf = (name: string) => `compared:${digest([name]).slice(0, 22)}`;

/** Then they are compared again. */
const KEPT_MS = 35 * 86_400_000;
/** Accounts of kinds whose shapes a process remembers. */
const REMEMBERED = 10_000;

export type ComparedShapes = ReturnType<typeof createCompared>;

/** Names are those of {@link comparedName}. */
export function createCompared(documents: Documents, now: () => number) {
  const known = createLastUsed<{ readonly groups: Groups; readonly endsAt: number }>(REMEMBERED);

  function groupsOf(name: string): Groups {
    const one = known.get(name);
    return one === undefined || now() >= one.endsAt ? [] : one.groups;
  }

  function remember(name: string, groups: Groups): void {
    const endsAt = groups.length === 0 ? 0 : (known.get(name)?.endsAt ?? now() + KEPT_MS);
    known.set(name, { groups, endsAt: endsAt > now() ? endsAt : now() + KEPT_MS });
  }

  /** @throws StoreUnavailable */
  async function change(name: string, step: (all: Compared) => Compared): Promise<void> {
    const all = await mergeDocument<Compared>(documents, {
      key: keyOf(name),
      ttlMs: KEPT_MS,
      decode: ComparedForm.parse,
      encode: JSON.stringify,
      add: (before) => step(before ?? NOTHING),
    });
    if (all !== null) remember(name, all.groups.reduce<Groups>(connect, groupsOf(name)));
  }

  return {
    /** Whether they were compared with each other, as this process knows. */
    agree(name: string, shapes: readonly string[]): boolean {
      return groupsOf(name).some((group) => shapes.every((shape) => group.includes(shape)));
    },
    /** The same, as all replicas know. @throws StoreUnavailable */
    async look(name: string, shapes: readonly string[]): Promise<boolean> {
      const text = await documents.get(keyOf(name));
      const shared = text === null ? null : ComparedForm.parse(text);
      if (shared !== null) remember(name, shared.groups.reduce<Groups>(connect, groupsOf(name)));
      return this.agree(name, shapes);
    },
    /** Days of answers of these shapes were equal. @throws StoreUnavailable; this process knows it even then */
    async add(name: string, shapes: readonly string[]): Promise<void> {
      if (this.agree(name, shapes)) return;
      remember(name, connect(groupsOf(name), shapes));
      await change(name, (all) => ({ ...all, groups: connect(all.groups, shapes) }));
    },
    /**
     * Claims the paid comparison of a week.
     * @returns how many there were before; null: it was made
     * @throws StoreUnavailable
     */
    async claimWeek(name: string, week: number): Promise<number | null> {
      let before: number | null = null;
      await change(name, (all) => {
        before = all.week === week ? null : all.watched;
        return before === null ? all : { ...all, week, watched: before + 1 };
      });
      return before;
    },
  };
}

/** Identity of a kind for one account. @param generation shapes that were compared under another one prove nothing */
export function comparedName(kind: string, generation: string, account: string | null): string {
  return `${kind} ${generation} ${account === null ? '' : `=${account}`}`;
}
