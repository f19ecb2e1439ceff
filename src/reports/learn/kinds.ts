/**
 * What is known of kinds of reports, as records of the registry, so that replicas share it. It changes rarely: a few
 * times while learning and on probation, once when proven, once when refuted.
 */
import { randomBuffer } from '../../lib/chance.js';
import { createRecordBook } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
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

export type Kinds = ReturnType<typeof createKinds>;

export function createKinds(registry: Registry) {
  const book = createRecordBook<Divisibility>(registry, {
    ...{ prefix: PREFIX, max: MAX_KINDS, read: Divisibility.read },
    forget: (others) => surplus(others.map(([record, { revision }]) => ({ record, revision }))),
  });
  const base = () => registry.get(BASE_RECORD)?.value ?? FIRST_GENERATION;
  const stamps = new Map<string, { readonly generation: string; readonly stamp: string }>();
  const forget = () => stamps.clear();
  registry.onChange(PREFIX, forget);
  registry.onChange(BASE_RECORD, forget);

  function stampsOf(id: string) {
    const known = stamps.get(id);
    if (known !== undefined) return known;
    const value = book.get(id);
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
  function surplus(
    others: readonly { readonly record: string; readonly revision: number }[],
  ): [string, string | null, number?][] {
    if (others.length + 1 <= MAX_KINDS) return [];
    const forgotten = others
      .map((one) => ({ ...one, value: book.get(one.record.slice(PREFIX.length)) }))
      .sort((a, b) => worth(a.value) - worth(b.value) || a.revision - b.revision)
      .slice(0, others.length + 1 - MAX_KINDS + FORGOTTEN_AT_ONCE);
    const deleted = forgotten.map(({ record }): [string, null] => [record, null]);
    if (forgotten.every(({ value }) => value?.generation === base())) return deleted;
    return [...deleted, [BASE_RECORD, newGeneration(), registry.get(BASE_RECORD)?.revision ?? 0]];
  }

  return {
    get: book.get,
    list: book.list,
    /** Segments of the kind are split under this name; what was split under another one is void. */
    generationOf: (id: string): string => stampsOf(id).generation,
    /** Differs where answers are made otherwise: its generation, and whether it is proven. */
    stampOf: (id: string): string => stampsOf(id).stamp,
    /** @returns the kind before and after; `step` may be called more than once */
    async change(id: string, step: (value: Divisibility) => Divisibility) {
      let before = startLearning(base());
      let after = before;
      await book.change(id, (known) => {
        before = known ?? startLearning(base());
        after = step(before);
        return after === before ? null : after;
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
