/** Preview of a purge, from known reports only: a purge does not search the cache, so it cannot count all entries. */
import { isInScope, type PurgeScope } from '../../reports/cache/purges.js';
import type { Gateway } from '../../reports/gateway.js';
import type { Scope } from '../../reports/learn/scope.js';
import { dayNumber } from '../../reports/query/days.js';
import { dayRefs, wholeRef } from '../../reports/question.js';
import type { Entry } from '../../reports/rows/entry.js';
import { type NamedReport, parseNamed, showScope, unlessAway } from './ask.js';

/**
 * @returns `days`: in the scope; null where an end is open. `reports`: measured reports by date that would be fetched
 * again. `report`: what is cached of the named report; null without one
 * @throws GatewayError 400 `invalid_query`; `not_ready`
 */
export async function previewPurge(g: Gateway, scope: PurgeScope, named: NamedReport | null) {
  const { advertiserId, endpoint, from, to } = scope;
  const isHit = (one: Scope) =>
    (advertiserId === undefined || one.account === null || one.account === advertiserId) &&
    (endpoint === undefined || one.endpoint === endpoint);
  const known = await unlessAway(g.evidence.allScopes());
  return {
    // Never as a list: a calendar has millions.
    days: from === undefined || to === undefined ? null : numberOf(to) - numberOf(from) + 1,
    reports: known.filter(isHit).map(showScope),
    report: named === null ? null : await previewReport(g, scope, named),
  };
}

const numberOf = (day: string) => dayNumber(day) as number;

async function previewReport({ parse, lookUp }: Gateway, scope: PurgeScope, named: NamedReport) {
  const { question } = parseNamed(parse, named, 'json');
  const { report, series } = question;
  const isByDate = report.split.includes('date') && report.from !== null && report.to !== null;
  const days = isByDate ? dayRefs(question) : [];
  const wholes = (['rows', 'bytes'] as const).map((form) => wholeRef({ ...question, form }));
  const refs = [...days, ...wholes];
  const { found } = await lookUp.read(report, refs);
  const hit = refs.flatMap((ref) => {
    const entry = found.get(ref.id);
    if (entry === undefined) return [];
    const { seq, accounts: held } = entry.header;
    const { account: advertiserId, accounts: named, endpoint } = report;
    const subject = { seq, advertiserId, named, held, endpoint, from: ref.from, to: ref.to };
    return isInScope(scope, subject) ? [{ ref, entry }] : [];
  });
  const sum = (of: (entry: Entry) => number) => hit.reduce((total, { entry }) => total + of(entry), 0);
  return {
    series,
    entries: hit.length,
    days: hit.flatMap(({ ref: { isDay, from } }) => (isDay && from !== null ? [from] : [])),
    rows: sum(({ header }) => (header.form === 'rows' ? header.rowCount : 0)),
    bytes: sum(({ body, segment }) => segment?.bytes.length ?? body.length),
  };
}
