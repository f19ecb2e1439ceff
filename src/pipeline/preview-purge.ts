/** What a purge would forget, as far as that is known: nothing is found and deleted by one, so nothing is counted either. */
import { isInScope, type PurgeScope } from '../cache/purges.js';
import type { Scope } from '../finality/scope.js';
import { showId } from '../report/answer-meta.js';
import { dayNumber } from '../report/days.js';
import type { Entry } from '../report/entry.js';
import { type NamedReport, parseNamed, unlessAway } from './ask.js';
import type { LookUp } from './look-up.js';
import type { ParseQuery } from './query.js';
import { dayRefs, wholeRef } from './question.js';

export interface PurgePreview {
  /** Days in it; null where an end is open. */
  readonly days: number | null;
  /** Reports by date that are in use and would be asked for anew, of those of which anything was measured. */
  readonly reports: readonly object[];
  /** Of the report that was named: what is kept of it, and would be forgotten; null without one. */
  readonly report: {
    readonly series: string;
    readonly entries: number;
    readonly days: readonly string[];
    readonly rows: number;
    readonly bytes: number;
  } | null;
}

/** @throws GatewayError 400 `invalid_query`; `not_ready` */
export type PreviewPurge = (scope: PurgeScope, named: NamedReport | null) => Promise<PurgePreview>;

export interface PreviewPurgeOptions {
  readonly parse: ParseQuery;
  readonly lookUp: LookUp;
  readonly truth: { readonly allScopes: () => Promise<readonly Scope[]> };
}

export function createPreviewPurge(options: PreviewPurgeOptions): PreviewPurge {
  return async (scope, named) => {
    const { advertiserId, endpoint, from, to } = scope;
    const isHit = (one: Scope) =>
      (advertiserId === undefined || one.account === null || one.account === advertiserId) &&
      (endpoint === undefined || one.endpoint === endpoint);
    const known = await unlessAway(options.truth.allScopes());
    return {
      days: from === undefined || to === undefined ? null : countDays(from, to),
      reports: known.filter(isHit).map(({ account, split, ...one }) => ({
        ...one,
        ...{ advertiserId: showId(account), split: split === '' ? [] : split.split('+') },
      })),
      report: named === null ? null : await previewReport(options, scope, named),
    };
  };
}

/** Never as a list: all that a calendar can name are millions. */
function countDays(from: string, to: string): number {
  return (dayNumber(to) as number) - (dayNumber(from) as number) + 1;
}

async function previewReport(
  { parse, lookUp }: PreviewPurgeOptions,
  scope: PurgeScope,
  named: NamedReport,
): Promise<PurgePreview['report']> {
  const { question } = parseNamed(parse, named, 'json');
  const { report, series } = question;
  const isByDate = report.split.includes('date') && report.from.iso !== null && report.to.iso !== null;
  const days = isByDate ? dayRefs(question) : [];
  const wholes = (['rows', 'bytes'] as const).map((form) => wholeRef({ ...question, form }));
  const refs = [...days, ...wholes];
  const { found } = await lookUp.read(report, refs);
  const hit = refs.filter(({ id, from, to }) => {
    const entry = found.get(id);
    return entry !== undefined && isInScope(scope, { ...subjectOf(report, entry), from, to });
  });
  const entries = hit.map(({ id }) => found.get(id) as Entry);
  const sum = (of: (entry: Entry) => number) => entries.reduce((total, entry) => total + of(entry), 0);
  return {
    series,
    entries: entries.length,
    days: hit.flatMap(({ isDay, from }) => (isDay && from !== null ? [from] : [])),
    rows: sum(({ header }) => (header.form === 'rows' ? header.rowCount : 0)),
    bytes: sum(({ body, segment }) => segment?.bytes.length ?? body.length),
  };
}

function subjectOf(
  { account, accounts, endpoint }: ReturnType<ParseQuery>['question']['report'],
  { header }: Entry,
) {
  return { seq: header.seq, advertiserId: account, named: accounts, held: header.accounts, endpoint };
}
