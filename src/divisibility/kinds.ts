/**
 * What is known of kinds of reports, as records of the registry, so that replicas share it. It changes rarely: a few
 * times while learning and on probation, once when proven, once when refuted.
 */
import { randomBuffer } from '../chance.js';
import type { Registry } from '../registry/replica.js';
import { updateRecord } from '../registry/update-record.js';
import { Divisibility, isProven, startLearning } from './state.js';

const PREFIX = 'divisible/';
/** Generation of kinds without a record; not under the prefix, for it is no kind. */
const BASE_RECORD = 'divisible-base';
/** Before anything was learned all replicas must split under one name. */
const FIRST_GENERATION = 'first';
/** Kinds that are remembered; an application that sends a new unknown parameter each time must not fill the registry. */
export const MAX_KINDS = 500;
/** Forgotten at once beyond the bound, since forgetting what was refuted makes other segments void too. */
const FORGOTTEN_AT_ONCE = 25;

export interface Kinds {
  get(id: string): Divisibility | null;
  list(): readonly (readonly [id: string, known: Divisibility])[];
  /** Segments of the kind are split under this name; what was split under another one is void. */
  generationOf(id: string): string;
  /** Differs where answers are made otherwise: its generation, and whether it is proven. */
  stampOf(id: string): string;
  /** @returns the kind before and after; `step` may be called more than once */
  change(
    id: string,
    step: (value: Divisibility) => Divisibility,
  ): Promise<{ readonly before: Divisibility; readonly after: Divisibility }>;
}

export function createKinds(registry: Registry): Kinds {
  /** Parsed records by their text. */
  let parsed = new Map<string, { readonly text: string; readonly value: Divisibility }>();

  function get(id: string): Divisibility | null {
    const text = registry.get(PREFIX + id)?.value;
    if (text === undefined) return null;
    const before = parsed.get(id);
    if (before?.text === text) return before.value;
    const value = Divisibility.read(text, PREFIX + id);
    if (parsed.size > MAX_KINDS) parsed = new Map();
    parsed.set(id, { text, value });
    return value;
  }

  const base = () => registry.get(BASE_RECORD)?.value ?? FIRST_GENERATION;
  const stamps = new Map<string, { readonly generation: string; readonly stamp: string }>();
  const forget = () => stamps.clear();
  registry.onChange(PREFIX, forget);
  registry.onChange(BASE_RECORD, forget);

  function stampsOf(id: string) {
    const known = stamps.get(id);
    if (known !== undefined) return known;
    const value = get(id);
    const generation = value?.generation ?? base();
    const made = { generation, stamp: value !== null && isProven(value) ? `${generation}+` : generation };
    if (stamps.size > MAX_KINDS) forget();
    stamps.set(id, made);
    return made;
  }

  /**
   * The kinds beyond the bound, to be forgotten: what costs least to learn again first, and of that the oldest.
   *
   * A kind that is forgotten is split under the base's name again, so that name must not be one it was refuted under:
   * when a kind that has left the base is forgotten, the base gets a new name. Kinds with a record keep theirs.
   */
  function surplus(record: string): [string, string | null, number?][] {
    const all = registry.list(PREFIX).filter(([id]) => id !== record);
    if (all.length + 1 <= MAX_KINDS) return [];
    const ranked = all.map(([id, { revision }]) => ({ id, revision, value: get(id.slice(PREFIX.length)) }));
    const forgotten = ranked
      .sort((a, b) => worth(a.value) - worth(b.value) || a.revision - b.revision)
      .slice(0, all.length + 1 - MAX_KINDS + FORGOTTEN_AT_ONCE);
    const hasLeft = forgotten.some(({ value }) => value?.generation !== base());
    const deleted = forgotten.map(({ id }): [string, null] => [id, null]);
    if (!hasLeft) return deleted;
    return [...deleted, [BASE_RECORD, newGeneration(), registry.get(BASE_RECORD)?.revision ?? 0]];
  }

  return {
    get,
    list: () =>
      registry.list(PREFIX).flatMap(([record]) => {
        const id = record.slice(PREFIX.length);
        const known = get(id);
        return known === null ? [] : [[id, known] as const];
      }),
    generationOf: (id) => stampsOf(id).generation,
    stampOf: (id) => stampsOf(id).stamp,
    async change(id, step) {
      let before = startLearning(base());
      let after = before;
      await updateRecord(registry, PREFIX + id, () => {
        before = get(id) ?? startLearning(base());
        after = step(before);
        return after === before ? null : { text: JSON.stringify(after), also: surplus(PREFIX + id) };
      });
      return { before, after };
    },
  };
}

/** The less it took to get there, the sooner it is forgotten. */
function worth(value: Divisibility | null): number {
  return value === null ? 0 : ['learning', 'refuted', 'probation', 'proven'].indexOf(value.state);
}

export function newGeneration(): string {
  return randomBuffer(6).toString('hex');
}
