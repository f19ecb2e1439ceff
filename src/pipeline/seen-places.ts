/**
 * Where the rows of each kind of report stood in answers that left no doubt. Kept by this process alone and for a
 * bounded number of kinds: what is forgotten costs a doubt, and no wrong answer.
 */
import type { CanonicalReport } from '../report/canonicalize.js';

export interface SeenPlaces {
  /** @returns places as member names joined by dots */
  of(report: CanonicalReport): readonly string[];
  note(report: CanonicalReport, place: string): void;
}

const MAX_KINDS = 1000;
const MAX_PLACES = 8;

export function createSeenPlaces(): SeenPlaces {
  const places = new Map<string, readonly string[]>();
  const kindOf = ({ endpoint, method, split }: CanonicalReport) => [method, endpoint, ...split].join(' ');
  const of = (report: CanonicalReport) => places.get(kindOf(report)) ?? [];
  return {
    of,
    note(report, place) {
      const known = of(report);
      if (known.includes(place) || known.length >= MAX_PLACES) return;
      if (places.size >= MAX_KINDS) places.clear();
      places.set(kindOf(report), [...known, place]);
    },
  };
}
