/**
 * Answers a report of some campaigns from the stored report of all: if its days are final, complete and fresh and have all of
 * these campaigns, and earlier answers of the platform were equal. Nothing is summed.
 */

import { daysFound } from '../cache/look-up.js';
import { decideFor, startRun } from '../cache/run.js';
import type { Gateway } from '../gateway.js';
import type { FetchedDays } from '../history/record.js';
import type { Report } from '../query/canonicalize.js';
import { seriesId } from '../query/platform-call.js';
import { dayRef, type ReportQuestion, type RequestContext } from '../question.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { type FreshnessRules, isFinal } from '../rows/freshness.js';
import { type SelectedDay, type Selection, selectionOf, selectRows } from '../rows/select-rows.js';

/** agreed: the platform's answer equals the selection · refuted: it does not · answered: without a call */

/** @returns null if the report must be fetched */
export async function selectFromAll(g: Gateway, { report, form }: ReportQuestion, context: RequestContext) {
  const selection = selectionOf(report);
  if (selection === null || form !== 'rows' || g.selectable.stateOf(report) !== 'proven') return null;
  const run = await startRun(g, baseOf(g, selection), context, 'usual');
  const { mode, missing, behind, refusal, parts } = decideFor(g, run);
  if (mode !== 'days' || missing.length > 0 || behind.length > 0 || refusal !== null) return null;
  const days = selectAll(parts as readonly Entry<RowsHeader>[], selection, g.policy.rulesFor(report));
  return days === null ? null : { days, degraded: run.degraded };
}

/** Compares fetched days of some campaigns with the rows of all of them. Never rejects. */
export async function observeSelection(
  g: Gateway,
  report: Report,
  fetched: Pick<FetchedDays, 'series' | 'days'>,
): Promise<void> {
  try {
    await observe(g, report, fetched);
  } catch (error) {
    g.logger.warn(
      { err: error, endpoint: report.endpoint },
      'failed to compare a report of some campaigns with the report of all; the next fetch retries',
    );
  }
}

async function observe(
  g: Gateway,
  report: Report,
  { series, days }: Pick<FetchedDays, 'series' | 'days'>,
): Promise<void> {
  const { selectable, learner, policy } = g;
  const selection = selectionOf(report);
  if (selection === null || learner.status(report).state !== 'proven') return;
  const state = selectable.stateOf(report);
  if (state === 'refuted' || state === 'proven') return;
  const final = days.filter(({ header }) => isFinal(header, policy.rulesFor(report)));
  const compared = compareDays(final, await daysOfAll(g, baseOf(g, selection), final), selection);
  if (compared === 'nothing') return;
  if (compared === 'agree') await selectable.agreed(report, questionOf(series, final));
  else await selectable.refuted(report);
  g.count('selections', { event: compared === 'agree' ? 'agreed' : 'refuted' });
}

async function daysOfAll(
  { learner, lookUp, policy }: Gateway,
  { report, series }: ReportQuestion,
  final: readonly Entry<RowsHeader>[],
) {
  const refs = final.map(({ header }) => dayRef(series, header.lastDay as string));
  const { generation } = learner.status(report);
  const known = daysFound(refs, (await lookUp.read(report, refs)).found);
  const kept = [...known].filter(
    ([, { header }]) =>
      header.splitFrom?.generation === generation && isFinal(header, policy.rulesFor(report)),
  );
  return new Map(kept);
}

/** The report of all campaigns. */
function baseOf({ policy: { identity } }: Gateway, { of }: Selection): ReportQuestion {
  return { report: of, series: seriesId(of, identity.account, identity.baseUrl), form: 'rows' };
}

const questionOf = (series: string, days: readonly Entry<RowsHeader>[]) =>
  `${series}|${days[0]?.header.lastDay}|${days.at(-1)?.header.lastDay}`;

/** @returns null if a day is not final or not selectable, or if a campaign has no rows */
function selectAll(
  days: readonly Entry<RowsHeader>[],
  { ids }: Selection,
  rules: FreshnessRules,
): readonly Entry<RowsHeader>[] | null {
  const selected = days.map((day) => (isFinal(day.header, rules) ? selectRows(day, ids) : null));
  if (selected.includes(null)) return null;
  const all = selected as SelectedDay[];
  const found = new Set(all.flatMap((one) => [...one.found]));
  // A campaign without rows may be new, or of another advertiser: the platform decides.
  return [...ids].every((id) => found.has(id)) ? all.map(({ day }) => day) : null;
}

function compareDays(
  fresh: readonly Entry<RowsHeader>[],
  known: ReadonlyMap<string, Entry<RowsHeader>>,
  { ids }: Selection,
): 'agree' | 'disagree' | 'nothing' {
  let tells = false;
  for (const { header } of fresh) {
    const all = known.get(header.lastDay as string);
    const selected = all === undefined ? null : selectRows(all, ids);
    if (selected === null) continue;
    if (selected.day.header.splitFrom?.sortedHash !== header.splitFrom?.sortedHash) return 'disagree';
    tells ||= selected.isPart && header.rowCount > 0;
  }
  return tells ? 'agree' : 'nothing';
}
