/** `meta` of a JSON answer, and the revision of its rows. */

import { dayNumber, daysBetween } from '../query/days.js';
import { digest } from '../query/platform-call.js';
import type { AnswerHead, AssembleInput, Past } from './answer.js';
import { type Entry, ROW_SEPARATOR, type SplitFrom } from './entry.js';
import {
  type Facts,
  type FinalRules,
  isFinal,
  isFinalDay,
  lacksDays,
  lastSeenMs,
  stateAt,
} from './freshness.js';
import { projectRows } from './row-formats.js';
import { isRecalled, type Warning, whyNoTotals } from './warnings.js';

/**
 * Identifies the rows by day: equal rows have equal revisions.
 * @param fields shown columns; null: all
 * @returns null for data that is not stored by day
 */
export function revisionOf(
  parts: readonly RevisedPart[],
  fields: readonly string[] | null = null,
): string | null {
  if (parts.length === 0 || parts.some(isFlawed)) return null;
  const days = parts.map(({ header: { lastDay, splitFrom } }) =>
    splitFrom === null ? null : `${lastDay} ${splitFrom.sortedHash}`,
  );
  return days.includes(null)
    ? null
    : digest([...(days as string[]), ...(fields === null ? [] : ['_fields', ...fields])]).slice(0, 22);
}

/** Flawed rows are not in history, and have no revision. */
const isFlawed = ({ header }: RevisedPart) => header.flaws !== undefined;

interface RevisedPart {
  readonly header: Pick<Facts, 'lastDay' | 'flaws'> & {
    readonly splitFrom: Pick<SplitFrom, 'sortedHash'> | null;
  };
}

export function writeMeta(
  ask: AssembleInput,
  warnings: readonly Warning[],
  { asOfMs, stale, rowCount, revision }: Pick<AnswerHead, 'asOfMs' | 'stale' | 'rowCount' | 'revision'>,
): string {
  const { report, parts, totals, rules, past } = ask;
  const { from, to } = report;
  const paging = parts.find(({ header }) => header.paging !== null)?.header.paging ?? null;
  const provisional = firstProvisional(ask);
  const shown = totals !== null && whyNoTotals(totals, parts, rules) === null ? totals : null;
  const all = shown === null ? parts : [...parts, shown];
  const meta = {
    endpoint: report.endpoint,
    advertiserId: showId(report.account),
    period: (from === null && to === null) || parts.length === 0 ? null : { from, to },
    split: report.split,
    spentBased: report.spentBased,
    rowCount,
    asOf: new Date(asOfMs).toISOString(),
    final: ask.areTotalsOld !== true && isAnswerFinal(all, past, rules),
    ...(provisional === null ? {} : { firstProvisionalDate: provisional }),
    ...showExpected(ask),
    stale,
    ...(revision === null ? {} : { revision, ...showKnownAt(ask) }),
    ...(isRecalled(parts) ? { source: 'history' } : {}),
    reach: { summable: report.split.length === 0 },
    ...(warnings.some(({ code }) => code === 'pages_left' || code === 'rows_capped')
      ? { complete: false }
      : {}),
    ...(paging === null ? {} : { paging }),
    ...(report.passedOn.length === 0 ? {} : { passedOn: report.passedOn.map(({ name }) => name) }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(ask.days ? { days: showDays(ask) } : {}),
    ...(shown === null ? {} : { totalsAsOf: new Date(shown.header.fetchedAt).toISOString() }),
  };
  const whole = shown === null ? null : String(shown.body);
  const row = whole === null || ask.fields === null ? whole : projectRows(whole, ask.fields, ROW_SEPARATOR);
  const text = JSON.stringify(meta);
  return row === null ? text : `${text.slice(0, -1)},"totals":${row}}`;
}

/** Of shown columns. */
function showExpected({ expectedChange, fields }: AssembleInput): { readonly expectedChange?: object } {
  const columns = Object.entries(expectedChange ?? {}).filter(([column]) => fields?.includes(column) ?? true);
  return columns.length === 0 ? {} : { expectedChange: Object.fromEntries(columns) };
}

/** Whether all parts, or all days from history, are final. An empty answer is not. */
export function isAnswerFinal(parts: readonly Entry[], past: Past | null, rules: FinalRules): boolean {
  if (parts.length === 0) return false;
  return past === null
    ? parts.every(({ header }) => isFinal(header, rules))
    : [...past.days.values()].every(({ final }) => final);
}

/** @returns null if there is none, or if the report is not split by day */
function firstProvisional({ report, parts, past, rules }: AssembleInput): string | null {
  const { split, from, to } = report;
  if (!split.includes('date') || from === null || to === null) return null;
  if (past !== null) return [...past.days].find(([, { final }]) => !final)?.[0] ?? null;
  const provisional = parts.find(({ header }) => !isFinal(header, rules))?.header;
  if (provisional === undefined) return null;
  if (provisional.splitFrom !== null) return provisional.lastDay;
  if ((provisional.flaws ?? provisional.doubt) !== undefined) return from;
  const isYoung = (date: string) =>
    !isFinalDay(dayNumber(date) as number, provisional.fetchedOn, rules.restatementDays);
  return daysBetween(from, to).find(isYoung) ?? (lacksDays(provisional, rules) ? from : null);
}

/** Time of the data: as `_asOf` it returns the same answer again. */
function showKnownAt({ parts, past, isRecorded }: AssembleInput): { readonly knownAt?: string } {
  if (past === null ? !isRecorded : past.atMs === null) return {};
  if (parts.length === 0 || parts.some(isFlawed)) return {};
  const newestMs = Math.max(...parts.map(({ header }) => header.fetchedAt));
  return { knownAt: new Date(past?.atMs ?? newestMs).toISOString() };
}

/** A number if JSON represents it exactly, else text, as for ids in rows. */
export function showId(id: string | null): number | string | null {
  if (id === null) return null;
  return Number.isSafeInteger(Number(id)) ? Number(id) : id;
}

const isFromHistory = ({ forgotten }: Facts, date: string) => forgotten?.days.includes(date) === true;

/** Every day of the period, with the part that contains it. */
function showDays({ report, parts, nowMs, rules, past }: AssembleInput): readonly object[] {
  const { from, to } = report;
  if (from === null || to === null) return [];
  // Days left out by `_final=only` are in no part.
  const whole = parts[0]?.header.splitFrom === null ? parts[0].header : undefined;
  const byLastDay = new Map(parts.map(({ header }) => [header.lastDay, header]));
  return daysBetween(from, to).flatMap((date) => {
    const header = byLastDay.get(date) ?? whole;
    if (header === undefined) return [];
    const known = past?.days.get(date);
    return {
      date,
      // Of a whole, other days than those from history came with the fetch.
      asOf: new Date(isFromHistory(header, date) ? lastSeenMs(header) : header.fetchedAt).toISOString(),
      final:
        known?.final ??
        isFinal(header === whole ? { ...header, firstDay: date, lastDay: date } : header, rules),
      stale: past === null && stateAt(header, rules, nowMs) !== 'fresh',
      ...(known !== undefined && {
        knownFrom: new Date(known.knownFrom).toISOString(),
        confirmedUntil: new Date(known.confirmedUntil).toISOString(),
        exact: known.lacks === null,
        ...(known.ageHours !== null && { ageHours: Math.round(known.ageHours * 10) / 10 }),
      }),
    };
  });
}
