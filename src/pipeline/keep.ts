/** What an answer of the platform is kept as: days, or a whole, or a refusal that is remembered for a short time. */

import type { CacheTier, TierWrite } from '../cache/tier.js';
import type { Comparison, Learner } from '../divisibility/learn.js';
import { GatewayError } from '../errors.js';
import type { FetchedDays } from '../history/record.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import { type FreshnessRules, freshForMs } from '../report/freshness.js';
import { bytesKey, dayKey, type EntryKey, rowsKey } from '../report/keys.js';
import type { ReportPolicy } from '../report-policy.js';
import type { EntryOrError } from './entries.js';
import type { FetchDaysInput, FetchResult } from './fetch-result.js';
import type { Fetched, FetchedAnswer } from './fetched.js';
import { daysFound, type LookUp } from './look-up.js';
import { createOneATurn } from './one-a-turn.js';
import { dayRef, type Patience } from './question.js';
import type { Extent, Replacements } from './replacements.js';

export interface Kept {
  readonly result: FetchResult;
  /** The days of an answer that was split, and what was known of them before it was written; null where none was. */
  readonly split: Promise<Comparison> | null;
  /** The write to the store, which the answer does not wait for. Never rejects. */
  readonly kept: Promise<unknown>;
}

export type Keep = (input: FetchDaysInput, fetched: Fetched) => Promise<Kept>;

export interface KeepOptions {
  readonly tier: CacheTier;
  readonly lookUp: LookUp;
  readonly replacements: Pick<Replacements, 'note'>;
  readonly learner: Pick<Learner, 'status'>;
  readonly policy: ReportPolicy;
  readonly background: (work: Promise<unknown>) => void;
  /** Told of the days of every answer that was split. What it does with them waits for `begin`, behind the answer. */
  readonly onDays: (report: CanonicalReport, fetched: FetchedDays) => Promise<void>;
  /** Told of the rows of every answer that may be kept, behind the answer. */
  readonly onRows: (report: CanonicalReport, entries: readonly Entry<RowsHeader>[]) => void;
}

/** Bytes that may wait behind answers to be written; beyond it an answer waits for its own. */
const MAX_BEHIND_BYTES = 33_554_432;

export function createKeep(options: KeepOptions): Keep {
  const write = createWriteBehind(options);
  const turns = createOneATurn();
  return async function keep(input, fetched) {
    const unsplittable = isUnsplit(input, fetched) ? { doubtful: fetched.doubt !== null } : null;
    // The answer in hand is the whole, when it was for all of the period.
    const as: FetchDaysInput = unsplittable === null ? input : { ...input, mode: 'whole' };
    const isOfUse = unsplittable === null || isWholePeriod(input, fetched);
    const brought = isOfUse ? entriesOf(as, fetched) : [];
    const entries = new Map(brought.map(([{ id }, entry]) => [id, entry]));
    const { storable } = fetched;
    const days = storable ? daysToKeep(options, as, fetched) : null;
    // What the platform did not say is no news of it.
    const said = days?.filter(({ header }) => header.forgotten === undefined) ?? null;
    const writes = storable && isOfUse ? writesOf(options, as, fetched, brought, days ?? []) : [];
    // The answer, and others that are as far, go first; then the look at what is there, then the write.
    const answered = turns.next();
    const split = said === null ? null : splitOf(options, as, said, answered);
    if (said !== null && input.form === 'rows')
      options.background(options.onDays(input.report, { series: input.series, days: said, begin: answered }));
    if (storable && fetched.kind === 'answer')
      options.background(answered.then(() => options.onRows(input.report, rowsOf(fetched))));
    const writing = write(writes, input.patience, split ?? answered);
    const written = writing.then(({ kept }) => kept);
    options.background(options.replacements.note(input.series, extentsOf(as, writes, days ?? []), written));
    const { stored, kept } = await writing;
    return { split, kept, result: { entries, by: 'own', stored, storable, unsplittable } };
  };
}

/** What these writes take the place of. */
function extentsOf(
  { report }: FetchDaysInput,
  writes: readonly TierWrite[],
  days: readonly Entry<RowsHeader>[],
): readonly Extent[] {
  const whole = writes.slice(0, writes.length - days.length).map(({ version }) => version);
  const starts = days.map(({ header }) => header.fetchStartedAt);
  const [from, to] = [days[0], days.at(-1)].map((day) => day?.header.lastDay ?? null);
  return [
    { from: report.from.iso, to: report.to.iso, isWhole: true, startedAt: Math.min(...whole) },
    { from: from ?? null, to: to ?? null, isWhole: false, startedAt: Math.min(...starts) },
  ].filter(({ startedAt }) => Number.isFinite(startedAt));
}

function rowsOf({ days, rows }: FetchedAnswer): readonly Entry<RowsHeader>[] {
  return days ?? (rows === null ? [] : [rows]);
}

/** Days are compared, and kept, unless the kind was refuted. */
function daysToKeep(
  { learner }: KeepOptions,
  { report }: FetchDaysInput,
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
async function splitOf(
  { lookUp }: KeepOptions,
  { report, series, mode, known, patience, learns }: FetchDaysInput,
  fresh: readonly Entry<RowsHeader>[],
  answered: Promise<unknown>,
): Promise<Comparison> {
  const refs = fresh.map((entry) => dayRef(series, entry.header.lastDay as string));
  // Now: this request adds to it what it has brought.
  if (mode === 'days' || !learns) {
    const before = daysFound(refs, known);
    await answered;
    return { report, series, fresh, known: before };
  }
  const { found } = await lookUp.read(report, refs, patience, { begin: answered });
  return { report, series, fresh, known: daysFound(refs, found) };
}

function writesOf(
  options: KeepOptions,
  input: FetchDaysInput,
  fetched: Fetched,
  brought: readonly Brought[],
  split: readonly Entry<RowsHeader>[],
): TierWrite[] {
  if (fetched.kind === 'refusal') {
    const { refusal } = fetched;
    const version = refusal.header.fetchStartedAt;
    return brought.map(([key]) => ({ key, ...refusal, version, ttlMs: options.policy.negativeMs }));
  }
  const rules = options.policy.rulesFor(input.report);
  const days = split.map((entry) => entryOf(rules, dayKeyOf(input.series, entry), entry));
  if (input.mode === 'days') return days;
  const whole = brought.flatMap(([key, entry]) =>
    entry instanceof GatewayError || !isWorthKeeping(options, input, entry, days)
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
  { learner }: KeepOptions,
  { report, form }: FetchDaysInput,
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

/**
 * Writes behind the answer, as long as not too much waits there and the store takes what it is given: after a write that
 * failed, answers wait for their own again, until one succeeds.
 */
function createWriteBehind({ tier, background }: KeepOptions) {
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
function isUnsplit({ mode }: FetchDaysInput, fetched: Fetched): fetched is FetchedAnswer {
  return mode === 'days' && fetched.kind === 'answer' && fetched.days === null;
}

function isWholePeriod({ report: { from, to } }: FetchDaysInput, { range }: Fetched): boolean {
  return range.from === from.iso && range.to === to.iso;
}

function dayKeyOf(series: string, { header }: Entry<RowsHeader>): EntryKey {
  return dayKey(series, header.lastDay as string);
}

type Brought = readonly [EntryKey, EntryOrError];

/** A refusal is about the period that was asked for: whoever waits for days of it, within another, asks for himself. */
function entriesOf({ series, report, mode }: FetchDaysInput, fetched: Fetched): readonly Brought[] {
  const { from, to } = report;
  const [rows, bytes] = [rowsKey(series, from.iso, to.iso), bytesKey(series, from.iso, to.iso)];
  if (fetched.kind === 'refusal') return [rows, bytes].map((key) => [key, fetched.refusal]);
  if (mode === 'days') return (fetched.days ?? []).map((entry) => [dayKeyOf(series, entry), entry]);
  const body = fetched.bytes;
  // Of an answer that is not JSON the bytes are all there is, whatever form was asked for.
  const table = fetched.rows ?? fetched.rowsFault ?? body;
  return [
    ...(body === null ? [] : [[bytes, body] as const]),
    ...(table === null ? [] : [[rows, table] as const]),
  ];
}
