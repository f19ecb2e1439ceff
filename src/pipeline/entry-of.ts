/** A piece as the store keeps it. */
import type { TierWrite } from '../cache/tier.js';
import { type FreshnessRules, freshForMs } from '../report/freshness.js';
import type { EntryRef } from '../report/keys.js';
import type { Part } from '../report/part.js';

/** For as long as it may be of any use. */
export function entryOf(ref: EntryRef, part: Part, rules: FreshnessRules): TierWrite {
  const version = part.header.fetchStartedAt;
  return { ref, ...part, version, ttlMs: freshForMs(part.header, rules) + rules.staleIfErrorMs };
}
