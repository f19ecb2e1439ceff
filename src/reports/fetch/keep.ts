/** What an answer of the platform is kept as: days, or a whole, or a refusal that is remembered for a short time. */

import { GatewayError } from '../../errors.js';
import type { EntryOrError } from '../cache/entries.js';
import { daysFound } from '../cache/look-up.js';
import type { Extent } from '../cache/replacements.js';
import type { CacheTier, TierWrite } from '../cache/tier.js';
import type { Gateway } from '../gateway.js';
import type { Comparison } from '../learn/learn.js';
import { bytesKey, dayKey, type EntryKey, rowsKey } from '../query/keys.js';
import { dayRef, type Patience } from '../question.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { type FreshnessRules, freshForMs } from '../rows/freshness.js';
import type { Fetch, Fetched, FetchedAnswer, FetchResult } from './fetched.js';

/** A fetched answer, sorted out. */
export interface PreparedResult {
  readonly entries: FetchResult['entries'];
  /** Days that are compared and kept; null: none are. */
  readonly days: readonly Entry<RowsHeader>[] | null;
  readonly writes: readonly TierWrite[];
  /** What the writes take the place of. */
  readonly extents: readonly Extent[];
  /** What the answer is: by days, or a whole. */
  readonly mode: Fetch['mode'];
  readonly unsplittable: FetchResult['unsplittable'];
}

export function prepareResult(g: Gateway, fetch: Fetch, fetched: Fetched): PreparedResult {
  const unsplittable = isUnsplit(fetch, fetched) ? { doubtful: fetched.doubt !== null } : null;
  // The answer in hand is the whole, when it was for all of the period.
  const as: Fetch = unsplittable === null ? fetch : { ...fetch, mode: 'whole' };
  const isOfUse = unsplittable === null || isWholePeriod(fetch, fetched);
  const keyed = isOfUse ? entriesOf(as, fetched) : [];
  const days = fetched.storable ? daysToKeep(g, as, fetched) : null;
  const writes = fetched.storable && isOfUse ? writesOf(g, as, fetched, keyed, days ?? []) : [];
  return {
    entries: new Map(keyed.map(([{ id }, entry]) => [id, entry])),
    ...{ days, writes, extents: extentsOf(as, writes, days ?? []), mode: as.mode, unsplittable },
  };
}

/** What these writes take the place of. */
function extentsOf(
  { report }: Fetch,
  writes: readonly TierWrite[],
  days: readonly Entry<RowsHeader>[],
): readonly Extent[] {
  const whole = writes.slice(0, writes.length - days.length).map(({ version }) => version);
  const starts = days.map(({ header }) => header.fetchStartedAt);
  const [from, to] = [days[0], days.at(-1)].map((day) => day?.header.lastDay ?? null);
  return [
    { from: report.from, to: report.to, isWhole: true, startedAt: Math.min(...whole) },
    { from: from ?? null, to: to ?? null, isWhole: false, startedAt: Math.min(...starts) },
  ].filter(({ startedAt }) => Number.isFinite(startedAt));
}

/** Days are compared, and kept, unless the kind was refuted. */
function daysToKeep(
  { learner }: Gateway,
  { report }: Fetch,
  fetched: Fetched,
): readonly Entry<RowsHeader>[] | null {
  if (fetched.kind !== 'answer' || fetched.days === null) return null;
  return learner.status(report).state === 'refuted' ? null : fetched.days;
}

/**
 * What was known of these days before they are written over: to be called before they are. Days of a whole answer were not
 * looked at yet. Never rejects.
 * @param answered when the store may be asked
 */
export async function previousDays(
  { lookUp }: Gateway,
  { report, series, mode, known, patience, learns }: Fetch,
  fresh: readonly Entry<RowsHeader>[],
  answered: Promise<unknown>,
): Promise<Comparison> {
  const refs = fresh.map((entry) => dayRef(series, entry.header.lastDay as string));
  // Copied now: this request adds its own entries to `known`.
  if (mode === 'days' || !learns) {
    const before = daysFound(refs, known);
    await answered;
    return { report, series, fresh, known: before };
  }
  const { found } = await lookUp.read(report, refs, patience, { begin: answered });
  return { report, series, fresh, known: daysFound(refs, found) };
}

function writesOf(
  g: Gateway,
  input: Fetch,
  fetched: Fetched,
  keyed: readonly KeyedEntry[],
  split: readonly Entry<RowsHeader>[],
): TierWrite[] {
  if (fetched.kind === 'refusal') {
    const { refusal } = fetched;
    const version = refusal.header.fetchStartedAt;
    return keyed.map(([key]) => ({ key, ...refusal, version, ttlMs: g.policy.negativeMs }));
  }
  const rules = g.policy.rulesFor(input.report);
  const days = split.map((entry) => entryOf(rules, dayKeyOf(input.series, entry), entry));
  if (input.mode === 'days') return days;
  const whole = keyed.flatMap(([key, entry]) =>
    entry instanceof GatewayError || !isWorthKeeping(g, input, entry, days)
      ? []
      : [entryOf(rules, key, entry)],
  );
  return [...whole, ...days];
}

/**
 * Where its days are kept, the platform's own bytes are for those who ask for them, and all rows together for those who are
 * not answered by days.
 */
function isWorthKeeping(
  { learner }: Gateway,
  { report, form }: Fetch,
  { header }: Entry,
  days: readonly TierWrite[],
): boolean {
  if (days.length === 0 || header.form === form) return true;
  return header.form === 'rows' && learner.status(report).state !== 'proven';
}

/** For as long as it may be of any use. */
function entryOf(rules: FreshnessRules, key: EntryKey, entry: Entry): TierWrite {
  const isFlawed = entry.header.flaws !== undefined;
  const ttlMs = freshForMs(entry.header, rules) + (isFlawed ? 0 : rules.staleIfErrorMs);
  return { key, ...entry, version: entry.header.fetchStartedAt, ttlMs };
}

export type WriteBehind = ReturnType<typeof createWriteBehind>;

/** Bytes that may wait behind answers to be written; beyond it an answer waits for its own. */
const MAX_BEHIND_BYTES = 33_554_432;

/**
 * Writes behind the answer, as long as not too much waits there and the store takes what it is given: after a write that
 * failed, answers wait for their own again, until one succeeds.
 */
export function createWriteBehind(tier: CacheTier, background: Gateway['background']) {
  let behindBytes = 0;
  let isTaking = true;
  return async (
    writes: readonly TierWrite[],
    patience: Patience,
    begin: Promise<unknown>,
  ): Promise<{ stored: boolean; kept: Promise<unknown> }> => {
    if (writes.length === 0) return { stored: false, kept: Promise.resolve() };
    const bytes = writes.reduce((sum, { body }) => sum + body.length, 0);
    behindBytes += bytes;
    const kept = tier.write(writes, begin).then((isStored) => {
      behindBytes -= bytes;
      isTaking = isStored;
      return isStored;
    });
    background(kept);
    // A store that is away has accepted nothing.
    if (patience.isSpent) return { stored: false, kept };
    if (isTaking && behindBytes <= MAX_BEHIND_BYTES) return { stored: true, kept };
    await begin;
    // The store was away when it was asked what it has: it is not waited for a second time.
    if (patience.isSpent) return { stored: false, kept };
    const stored = await kept;
    patience.isSpent = !stored;
    return { stored, kept };
  };
}

/** Days were asked for, and the answer cannot be split into them. */
function isUnsplit({ mode }: Fetch, fetched: Fetched): fetched is FetchedAnswer {
  return mode === 'days' && fetched.kind === 'answer' && fetched.days === null;
}

function isWholePeriod({ report: { from, to } }: Fetch, { range }: Fetched): boolean {
  return range.from === from && range.to === to;
}

function dayKeyOf(series: string, { header }: Entry<RowsHeader>): EntryKey {
  return dayKey(series, header.lastDay as string);
}

type KeyedEntry = readonly [EntryKey, EntryOrError];

/** A refusal is of the requested period alone: a request for days of it, within another period, makes its own call. */
function entriesOf({ series, report, mode }: Fetch, fetched: Fetched): readonly KeyedEntry[] {
  const { from, to } = report;
  const [rows, bytes] = [rowsKey(series, from, to), bytesKey(series, from, to)];
  if (fetched.kind === 'refusal') return [rows, bytes].map((key) => [key, fetched.refusal]);
  if (mode === 'days') return (fetched.days ?? []).map((entry) => [dayKeyOf(series, entry), entry]);
  const body = fetched.bytes;
  // Of an answer that is not JSON the bytes are all there is, whatever form was requested.
  const table = fetched.rows ?? fetched.rowsFault ?? body;
  return [
    ...(body === null ? [] : [[bytes, body] as const]),
    ...(table === null ? [] : [[rows, table] as const]),
  ];
}
