/** Converts an answer of the platform to what is kept of it: days, a whole, or a refusal. */

import { GatewayError } from '../../errors.js';
import { sleep } from '../../lib/time.js';
import type { EntryOrError } from '../cache/entries.js';
import { daysFound } from '../cache/look-up.js';
import type { Extent } from '../cache/replacements.js';
import type { TierWrite } from '../cache/tier.js';
import type { Gateway } from '../gateway.js';
import type { Comparison } from '../learn/learn.js';
import { bytesKey, type EntryKey, rowsKey } from '../query/platform-call.js';
import { dayRef } from '../question.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { type FreshnessRules, freshForMs } from '../rows/freshness.js';
import { type Fetch, type Fetched, type FetchedAnswer, withHeader } from './fetched.js';

/**
 * @returns `days`: to compare and store, or null; `writes`: whole entries; `extents`: what both replace; `needsDays`: whether
 *   the report is not cached without its days
 */
export function prepareResult(g: Gateway, fetch: Fetch, fetched: Fetched) {
  const unsplittable = isUnsplit(fetch, fetched) ? { doubtful: fetched.doubt !== null } : null;
  const mode = unsplittable === null ? fetch.mode : 'whole';
  const { from, to } = fetched.range;
  const isOfUse = unsplittable === null || (from === fetch.report.from && to === fetch.report.to);
  const whole = isOfUse && (mode === 'whole' || fetched.kind === 'refusal') ? wholeOf(fetch, fetched) : [];
  const split = fetched.kind === 'answer' && fetched.storable ? fetched.days : null;
  // None if reports of this kind cannot be divided by day.
  const days = g.learner.status(fetch.report).state === 'refuted' ? null : split;
  const spare = spareOf(g, fetch, fetched);
  const writes = fetched.storable ? writesOf(g, fetch, fetched, [...whole, ...spare], days ?? []) : [];
  const byDay = mode === 'days' && fetched.kind === 'answer' ? (fetched.days ?? []) : [];
  const entries = new Map<string, EntryOrError>(whole.map(([{ id }, entry]) => [id, entry]));
  for (const entry of byDay) entries.set(entry.header.lastDay as string, entry);
  const extents = extentsOf(fetch, writes, days ?? []);
  return { entries, days, writes, extents, mode, unsplittable, needsDays: spare.length === 0 };
}

/** A clock that was set back is not waited for. */
const WAITS = 10;

/**
 * History tells states of a day apart by their times. An answer without a state may have been given since it was fetched, or
 * in the same millisecond. Then the state is dated now, after the times that this answer rests on.
 */
export async function afterGiven(g: Gateway, fetch: Fetch, fetched: Fetched): Promise<Fetched> {
  const givenMs = () => g.replacements.givenMs(fetch.series);
  for (let waits = 0; waits < WAITS && g.now() <= givenMs(); waits += 1) await sleep(1);
  const fetchedAt = g.now();
  if (fetchedAt <= givenMs()) return fetched;
  return fetched.kind === 'refusal' ? fetched : withHeader(fetched, { fetchedAt });
}

/** Whether an answer without these rows may have been given since they were fetched. */
export function isOlderThanGiven(g: Gateway, fetch: Fetch, fetched: Fetched): boolean {
  if (fetched.kind === 'refusal' || fetched.days === null) return false;
  const givenMs = g.replacements.givenMs(fetch.series);
  const isOlder = fetched.days.some(({ header }) => header.fetchedAt <= givenMs);
  return isOlder && areNews(g, fetch, fetched.days, givenMs);
}

/** Whether an answer may have been given with other rows of one of these days. */
function areNews(g: Gateway, { series, known }: Fetch, days: readonly Entry<RowsHeader>[], givenMs: number) {
  const dates = days.map(({ header }) => header.lastDay as string);
  const now = new Map([...g.days.shownAtHand(series, dates), ...g.days.beingWritten(series, dates)]);
  return days.some(({ header }) => {
    const date = header.lastDay as string;
    const before = (now.get(date) ?? known.get(date))?.header;
    if (before === undefined) return false;
    // What was known when the call was planned may have been replaced since.
    if (!now.has(date) && givenMs > before.fetchedAt) return true;
    return !('splitFrom' in before) || before.splitFrom?.sortedHash !== header.splitFrom?.sortedHash;
  });
}

function extentsOf(
  { report, order }: Fetch,
  writes: readonly TierWrite[],
  days: readonly Entry<RowsHeader>[],
): readonly Extent[] {
  const [from, to] = [days[0], days.at(-1)].map((day) => day?.header.lastDay ?? null);
  const whole = { from: report.from, to: report.to, isWhole: true, order };
  const split = { from: from ?? null, to: to ?? null, isWhole: false, order };
  return [...(writes.length === 0 ? [] : [whole]), ...(days.length === 0 ? [] : [split])];
}

/**
 * The stored days before they are overwritten. Those of a whole answer were not read yet. Never rejects.
 * @param answered when the store may be read
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

type WholeEntry = readonly [EntryKey, EntryOrError];

/** A refusal is for the requested period only, not for its days. */
function wholeOf({ series, report: { from, to } }: Fetch, fetched: Fetched): readonly WholeEntry[] {
  const [rows, bytes] = [rowsKey(series, from, to), bytesKey(series, from, to)];
  if (fetched.kind === 'refusal') return [rows, bytes].map((key) => [key, fetched.refusal]);
  const body = fetched.bytes;
  // Other data than JSON has only bytes, whatever form was requested.
  const table = fetched.rows ?? fetched.rowsFault ?? body;
  return [
    ...(body === null ? [] : [[bytes, body] as const]),
    ...(table === null ? [] : [[rows, table] as const]),
  ];
}

/** The whole rows of a report by day: where days find no room, the cache may have some. */
function spareOf(g: Gateway, { mode, report, series }: Fetch, fetched: Fetched): readonly WholeEntry[] {
  const { from, to } = report;
  if (mode !== 'days' || fetched.kind !== 'answer' || fetched.rows === null || !g.history.isFull()) return [];
  return fetched.range.from === from && fetched.range.to === to
    ? [[rowsKey(series, from, to), fetched.rows]]
    : [];
}

function writesOf(
  g: Gateway,
  fetch: Fetch,
  fetched: Fetched,
  whole: readonly WholeEntry[],
  days: readonly Entry<RowsHeader>[],
): TierWrite[] {
  if (fetched.kind === 'refusal') {
    const { refusal } = fetched;
    const version = versionOf(refusal);
    return whole.map(([key]) => ({ key, ...refusal, version, ttlMs: g.policy.negativeMs }));
  }
  const rules = g.policy.rulesFor(fetch.report);
  return whole.flatMap(([key, entry]) =>
    entry instanceof GatewayError || !isWorthKeeping(g, fetch, entry, days)
      ? []
      : [entryOf(rules, key, entry)],
  );
}

/** Next to days, bytes are stored only if requested, and the whole rows only if they are requested or days are not yet used. */
function isWorthKeeping(
  { learner }: Gateway,
  { report, form }: Fetch,
  { header }: Entry,
  days: readonly Entry<RowsHeader>[],
): boolean {
  if (days.length === 0 || header.form === form) return true;
  return header.form === 'rows' && learner.status(report).state !== 'proven';
}

function entryOf(rules: FreshnessRules, key: EntryKey, entry: Entry): TierWrite {
  const isFlawed = entry.header.flaws !== undefined;
  const ttlMs = freshForMs(entry.header, rules) + (isFlawed ? 0 : rules.staleIfErrorMs);
  return { key, ...entry, version: versionOf(entry), ttlMs };
}

/** Milliseconds: a version in the store has six bytes. */
const versionOf = ({ header }: Entry): number => Math.floor(header.order / 1000);

function isUnsplit({ mode }: Fetch, fetched: Fetched): fetched is FetchedAnswer {
  return mode === 'days' && fetched.kind === 'answer' && fetched.days === null;
}
