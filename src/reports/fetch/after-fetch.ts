/**
 * What follows every fetch, in the background. Add listeners for fetched days here. Order: pending answers are sent, then the
 * stored entries are read for comparison, then overwritten.
 */

import type { Gateway } from '../gateway.js';
import type { FetchedDays } from '../history/record.js';
import type { Report } from '../query/canonicalize.js';
import type { Fetch, Fetched, FetchResult } from './fetched.js';
import { afterGiven, isOlderThanGiven, prepareResult, previousDays } from './keep.js';
import { noteReference } from './reference-reports.js';
import { observeSelection } from './select.js';

/** @returns `kept`: the write to the store, which the answer does not wait for. Never rejects */
export async function afterFetch(
  g: Gateway,
  fetch: Fetch,
  fetched: Fetched,
): Promise<{ readonly result: FetchResult; readonly kept: Promise<unknown> }> {
  const { report } = fetch;
  const dated = isOlderThanGiven(g, fetch, fetched) ? await afterGiven(g, fetch, fetched) : fetched;
  const prepared = prepareResult(g, fetch, dated);
  const { entries, days, mode, unsplittable } = prepared;
  const answered = g.turns.next();
  // Rows from history are no new platform data.
  const said = days?.filter(({ header }) => header.forgotten === undefined) ?? null;
  const before = said === null ? null : previousDays(g, { ...fetch, mode }, said, answered);
  const begin = before ?? answered;
  if (fetched.storable && fetched.kind === 'answer') {
    const rows = fetched.days ?? (fetched.rows === null ? [] : [fetched.rows]);
    g.background(answered.then(() => g.advertisers.observed(report, rows)));
  }
  g.background(answered.then(() => noteReference(g, report, fetched)));
  const { stored, kept } = await store(g, fetch, { ...prepared, begin });
  if (before !== null && fetch.learns) g.background(before.then(g.learnFrom));
  const { storable } = fetched;
  return { kept, result: { entries, by: 'own', stored, storable, unsplittable } };
}

type Prepared = Pick<ReturnType<typeof prepareResult>, 'days' | 'writes' | 'extents' | 'needsDays'>;

/** Stores days and whole entries, and tells other replicas. @param begin when the store may be written */
async function store(
  g: Gateway,
  { report, series, order, handOver, patience }: Fetch,
  { days, writes, extents, needsDays, begin }: Prepared & { readonly begin: Promise<unknown> },
) {
  if (days === null && writes.length === 0) return { stored: false, kept: Promise.resolve() };
  const carried = writes.length === 0 ? handOver?.() : undefined;
  const news = carried && { locks: carried, message: g.replacements.newsOf(series, extents, carried.names) };
  const fetch = { series, days: days ?? [], order, begin, ...(news && { news }) };
  const recorded = days === null ? true : recordDays(g, report, fetch);
  const whole = writes.length === 0 ? true : g.tier.write(writes, begin);
  const written = Promise.all([recorded, whole]).then(([isRecorded, isWritten]) =>
    needsDays ? isRecorded && isWritten : isWritten,
  );
  const writing = g.writeBehind({ bytes: bytesOf(writes) + bytesOf(days ?? []), begin, written }, patience);
  g.background(
    g.replacements.note(
      series,
      extents,
      writing.then(({ kept }) => kept),
      () => carried?.isDone === true,
    ),
  );
  return await writing;
}

const bytesOf = (all: readonly { readonly body: Buffer }[]) =>
  all.reduce((sum, { body }) => sum + body.length, 0);

/** Never rejects. @returns whether they are stored */
function recordDays(g: Gateway, report: Report, fetched: FetchedDays): Promise<boolean> {
  const { series, days } = fetched;
  const recorded = g.history.record(report, fetched);
  const learned = recorded.then(({ news, finalized }) => {
    g.evidence.noted(report, news);
    g.evidence.finalized(report, series, finalized);
  });
  const said = days.filter(({ header }) => header.forgotten === undefined);
  g.background(Promise.all([learned, observeSelection(g, report, { series, days: said })]));
  return recorded.then(({ isStored }) => isStored);
}
