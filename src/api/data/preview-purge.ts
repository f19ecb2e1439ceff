/** Preview of a purge, from known reports only: a purge does not search the cache, so it cannot count all entries. */

import { subjectOf } from '../../reports/cache/look-up.js';
import { planCalls } from '../../reports/cache/plan.js';
import { isInScope, type PurgeScope } from '../../reports/cache/purges.js';
import type { Scope } from '../../reports/learn/scope.js';
import { dayNumber } from '../../reports/query/days.js';
import { dayRefs, wholeRef } from '../../reports/question.js';
import type { Reports } from '../../reports/reports.js';
import type { Entry } from '../../reports/rows/entry.js';
import { type NamedReport, parseNamed, showScope, unlessAway } from './ask.js';

/**
 * @returns `days`: in the scope; null where an end is open. `reports`: measured reports by date that would be fetched
 * again. `calls`: platform calls that fetch each of them once. `report`: what is cached of the named report; null without one
 * @throws GatewayError 400 `invalid_query`; `not_ready`
 */
export async function previewPurge(g: Reports, scope: PurgeScope, named: NamedReport | null) {
  const { advertiserId, endpoint, from, to } = scope;
  const isHit = (one: Scope) =>
    (advertiserId === undefined || one.account === null || one.account === advertiserId) &&
    (endpoint === undefined || one.endpoint === endpoint);
  const reports = (await unlessAway(g.evidence.allScopes())).filter(isHit);
  // Never as a list: a calendar has millions.
  const days = from === undefined || to === undefined ? null : numberOf(to) - numberOf(from) + 1;
  return {
    days,
    reports: reports.map(showScope),
    calls: reports.length * Math.ceil((days ?? 1) / g.policy.plan.maxDaysPerCall),
    report: named === null ? null : await previewReport(g, scope, named),
  };
}

const numberOf = (day: string) => dayNumber(day) as number;

async function previewReport({ parse, cached, policy }: Reports, scope: PurgeScope, named: NamedReport) {
  const { question } = parseNamed(parse, named, 'json');
  const { report, series } = question;
  const isByDate = report.split.includes('date') && report.from !== null && report.to !== null;
  const days = isByDate ? dayRefs(question) : [];
  const wholes = (['rows', 'bytes'] as const).map((form) => wholeRef({ ...question, form }));
  const refs = [...days, ...wholes];
  const found = await cached(report, refs);
  const hit = refs.flatMap((ref) => {
    const entry = found.get(ref.id);
    if (entry === undefined) return [];
    return isInScope(scope, subjectOf(entry, ref, report)) ? [{ ref, entry }] : [];
  });
  const sum = (of: (entry: Entry) => number) => hit.reduce((total, { entry }) => total + of(entry), 0);
  const dates = hit.flatMap(({ ref: { isDay, from } }) => (isDay && from !== null ? [from] : []));
  return {
    series,
    entries: hit.length,
    days: dates,
    calls: dates.length === 0 ? Math.min(1, hit.length) : planCalls(dates.map(numberOf), policy.plan).length,
    rows: sum(({ header }) => (header.form === 'rows' ? header.rowCount : 0)),
    bytes: sum(({ body, segment }) => segment?.bytes.length ?? body.length),
  };
}
