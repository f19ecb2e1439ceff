/**
 * What follows every fetch, in the background. Add listeners for fetched days here. Order: pending answers are sent, then the
 * stored entries are read for comparison, then overwritten.
 */

import type { Gateway } from '../gateway.js';
import type { Recorded } from '../history/record.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import type { Fetch, Fetched, FetchResult } from './fetched.js';
import { prepareResult, previousDays } from './keep.js';
import { noteReference } from './reference-reports.js';
import { observeSelection } from './select.js';

/** @returns `kept`: the write to the store, which the answer does not wait for. Never rejects */
export async function afterFetch(
  g: Gateway,
  fetch: Fetch,
  fetched: Fetched,
): Promise<{ readonly result: FetchResult; readonly kept: Promise<unknown> }> {
  const { report, series } = fetch;
  const { entries, days, writes, extents, mode, unsplittable } = prepareResult(g, fetch, fetched);
  const answered = g.turns.next();
  // Rows from history are no new platform data.
  const said = days?.filter(({ header }) => header.forgotten === undefined) ?? null;
  const before = said === null ? null : previousDays(g, { ...fetch, mode }, said, answered);
  const recorded = said === null || fetch.form !== 'rows' ? null : recordDays(g, fetch, said, answered);
  if (fetched.storable && fetched.kind === 'answer') {
    const rows = fetched.days ?? (fetched.rows === null ? [] : [fetched.rows]);
    g.background(answered.then(() => g.advertisers.observed(report, rows)));
  }
  g.background(answered.then(() => noteReference(g, report, fetched)));
  const added = recorded?.then((one) => one.added);
  const writing = g.writeBehind(writes, fetch.patience, { begin: before ?? answered, added });
  const written = writing.then(({ kept }) => kept);
  g.background(g.replacements.note(series, extents, written));
  const { stored, kept } = await writing;
  if (before !== null && fetch.learns) g.background(before.then(g.learnFrom));
  const { storable } = fetched;
  return { kept, result: { entries, by: 'own', stored, storable, unsplittable } };
}

/** Never rejects. @param begin when the store may be read; history reads wait for these days from the call on */
function recordDays(
  g: Gateway,
  { report, series }: Fetch,
  days: readonly Entry<RowsHeader>[],
  begin: Promise<unknown>,
): Promise<Recorded> {
  const recorded = g.history.record(report, { series, days, begin });
  const learned = recorded.then(({ observations, finalized }) => {
    g.evidence.observed(report, observations);
    g.evidence.finalized(report, series, finalized);
  });
  const both = Promise.all([learned, observeSelection(g, report, { series, days })]);
  g.background(both.then(() => g.explorer.used(g, { report, series })));
  return recorded;
}
