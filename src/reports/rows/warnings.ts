/** Warnings about an answer: `meta.warnings`, or the codes in `report-warnings`. */
import { CATALOGUE } from '../../errors/catalogue.js';
import type { ErrorCode } from '../../errors.js';
import { didYouMean } from '../../lib/near-name.js';
import type { Report } from '../query/canonicalize.js';
import type { AssembleInput, KnownDay, Past } from './answer.js';
import { decodeFacts, distinct, holdsTexts } from './column-types.js';
import { shownAs } from './decimal.js';
import type { Entry, RowsHeader } from './entry.js';
import { FLAW_CODES, type Flaw, joinFlaws } from './flaws.js';
import { expectedFinalDates, type FinalRules, lackingDays, lacksDays } from './freshness.js';

type Columns = Pick<RowsHeader, 'columns' | 'types'>;
type ColumnKind = 'nothing' | 'text' | 'number';

/** Numbers or text by column: the schema, unlike the facts in `types`, which vary with the values. */
export function kindsOf({ columns, types = [] }: Columns): ReadonlyMap<string, ColumnKind> {
  return new Map(
    columns.map((column, at) => {
      const code = types[at] ?? '';
      return [column, code === '' ? 'nothing' : holdsTexts(column, decodeFacts(code)) ? 'text' : 'number'];
    }),
  );
}

/** Names of columns. */
export interface SchemaChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly retyped: readonly string[];
}

export function schemaChange(before: Columns, after: Columns): SchemaChange {
  const [old, now] = [kindsOf(before), kindsOf(after)];
  const isRetyped = (column: string) => {
    const kinds = [old.get(column), now.get(column)];
    return kinds.includes('text') && kinds.includes('number');
  };
  return {
    added: after.columns.filter((column) => !old.has(column)),
    removed: before.columns.filter((column) => !now.has(column)),
    retyped: after.columns.filter(isRetyped),
  };
}

/**
 * @param days with rows
 * @returns columns that some days lack, and those with numbers on some days and text on others; null if all are the same
 */
export function schemaMix(days: readonly Columns[]) {
  const different = distinct(days);
  if (different.length < 2) return null;
  const seen = new Map<string, { count: number; readonly kinds: Set<ColumnKind> }>();
  for (const day of different) {
    for (const [column, kind] of kindsOf(day)) {
      const known = seen.get(column) ?? { count: 0, kinds: new Set<ColumnKind>() };
      known.count += 1;
      known.kinds.add(kind);
      seen.set(column, known);
    }
  }
  const partial = [...seen].filter(([, { count }]) => count < different.length).map(([column]) => column);
  const retyped = [...seen]
    .filter(([, { kinds }]) => kinds.has('text') && kinds.has('number'))
    .map(([column]) => column);
  return partial.length + retyped.length === 0 ? null : { partial, retyped };
}

export const WARNING_CODES = [
  ...FLAW_CODES,
  'all_days_empty',
  'beyond_retention',
  'first_seen_late',
  'history_missed',
  'parameters_passed_on',
  'platform_chose_period',
  'provisional_days_left_out',
  'schema_mixed',
  'shape_unknown',
  'split_not_shown',
  'thinned',
  'totals_differ',
  'totals_unavailable',
] as const;

export interface Warning {
  readonly code: (typeof WARNING_CODES)[number];
  /** For people: the meaning, and what to do. */
  readonly message: string;
  /** Affected days. */
  readonly days?: readonly string[];
  /** Those of `days` whose rows are missing. */
  readonly missing?: readonly string[];
  /** Time of the first occurrence. */
  readonly since?: string;
  /** Row count at which the platform truncated the answer. */
  readonly rows?: number;
}

export function warningsOf(input: AssembleInput): readonly Warning[] {
  const { report, parts, totals, rules, past, leftOut } = input;
  const all = totals === null ? parts : [...parts, totals];
  return [
    ...questionWarnings(report),
    ...doubtWarnings(report, all),
    ...flawWarnings(all),
    ...totalsWarnings(input),
    ...apartWarnings(input),
    ...schemaWarnings(parts),
    ...splitWarnings(report, parts),
    ...forgottenWarnings(report, parts, rules),
    ...historyWarnings(past),
    ...leftOutWarnings(leftOut, parts.length === 0, rules),
  ];
}

/** Available before the answer. */
export function questionWarnings({ endpoint, passedOn, from, to }: Report): readonly Warning[] {
  const warnings: Warning[] = [];
  if (passedOn.length > 0) {
    // Probable typing errors first.
    const ranked = [...passedOn].sort((a, b) => Number(b.meant.length > 0) - Number(a.meant.length > 0));
    const named = ranked
      .slice(0, MAX_NAMED)
      .map(({ name, meant }) => (meant.length === 0 ? name : `${name} (${didYouMean(...meant)})`));
    const more = ranked.length > MAX_NAMED ? [`${ranked.length - MAX_NAMED} more in meta.passedOn`] : [];
    warnings.push({
      code: 'parameters_passed_on',
      message: `Sent to the platform unchanged, and not used by the gateway: ${[...named, ...more].join(', ')}. A platform that does not know them ignores them silently. Correct misspelt names; an operator can declare the others under report.endpoints."${endpoint}".knownParameters.`,
    });
  }
  const open = [...(from === null ? ['dateFrom'] : []), ...(to === null ? ['dateTo'] : [])];
  if (open.length > 0)
    warnings.push({
      code: 'platform_chose_period',
      message: `Without ${open.join(' and ')} the platform chose the period, and may choose another one tomorrow. Set dateFrom and dateTo, or _period.`,
    });
  return warnings;
}

/** Names and days listed in a message; `meta` has all of them. */
const MAX_NAMED = 5;

function someOf(names: readonly string[]): string {
  return names.slice(0, MAX_NAMED).join(', ') + (names.length > MAX_NAMED ? ' and others' : '');
}

function doubtWarnings({ endpoint }: Report, all: readonly Entry[]): readonly Warning[] {
  const doubt = all.map(({ header }) => (header.form === 'rows' ? header.doubt : undefined)).find(Boolean);
  if (doubt === undefined) return [];
  const message = `The platform's answer may not be a report: ${doubt}. It was not cached. If it is one, an operator can declare it with report.endpoints."${endpoint}".rowsAt, requiredColumns or knownColumns.`;
  return [{ code: 'shape_unknown', message }];
}

function flawWarnings(parts: readonly Entry[]): readonly Warning[] {
  return joinFlaws(parts.map(({ header }) => header)).map(({ code, text, rows }) => {
    const held = parts.filter(({ header }) => header.flaws?.some((flaw) => flaw.code === code));
    const days = held.flatMap(({ header }) =>
      header.form === 'rows' && header.splitFrom !== null ? [header.lastDay as string] : [],
    );
    const quoted = code === 'platform_warning' && text !== undefined ? `: ${text}` : '';
    const cached = code === 'pages_left' ? 'not cached' : 'cached for at most five minutes';
    const message = `${FLAW_WORDS[code]}${quoted}. The rows are passed on unchanged. The answer is not final, not in the history, and ${cached}.`;
    return { code, message, ...(days.length === 0 ? {} : { days }), ...(rows === undefined ? {} : { rows }) };
  });
}

const FLAW_WORDS: Readonly<Record<Flaw['code'], string>> = {
  duplicate_rows:
    'The platform returned the same row more than once. Remove duplicates before adding up the rows',
  pages_left:
    'The platform returned one page of several, or says that it cut its answer, so rows are missing (meta.complete, meta.paging). Do not add up the rows; tell your operator',
  platform_warning: 'The platform returned a warning with its answer',
  rows_capped:
    'The platform cut its answer off at a row limit (rows), so rows are probably missing (meta.complete). Do not add up the rows; request fewer, as some campaigns at a time, or tell your operator',
  rows_of_other_advertisers:
    'The platform returned rows of advertisers that were not requested. Remove them before adding up the rows',
  rows_of_other_campaigns:
    'The platform returned rows of campaigns that were not requested. Remove them before adding up the rows',
  rows_outside_filter:
    'The platform returned rows that do not match a filter of the query. Remove them before adding up the rows',
  rows_outside_range:
    'The platform returned rows of days outside the period. Remove them before adding up the rows',
  undated_rows:
    'The platform returned rows without a date, although the report is split by date. They may be totals: do not add them to the others',
};

/** @returns null if the unsplit report is one row of all days, as totals are */
export function whyNoTotals({ header }: Entry, parts: readonly Entry[], rules: FinalRules): string | null {
  if (header.form === 'refusal') return `was refused by the platform with status ${header.status}`;
  if (header.form !== 'rows') return 'is not a table of rows';
  if (header.rowCount === 1) {
    if (lacksDays(header, rules)) return 'lacks days that the platform no longer returns';
    return isRecalled(parts) ? 'may lack days that are served from history' : null;
  }
  return header.rowCount === 0 ? 'has no row' : `has ${header.rowCount} rows instead of one`;
}

/** Whether days that the platform no longer returns are from history. */
export function isRecalled(parts: readonly Entry[]): boolean {
  return parts.some(({ header }) => (header.forgotten?.days.length ?? 0) > 0);
}

function totalsWarnings({ totals, totalsFailure, parts, rules }: AssembleInput): readonly Warning[] {
  const why = totals === null ? whyNotFetched(totalsFailure ?? null) : whyNoTotals(totals, parts, rules);
  const message = `meta.totals is missing: the platform's unsplit report of this period ${why}. Do not add up the rows instead if meta.reach.summable is false.`;
  return why === null ? [] : [{ code: 'totals_unavailable', message }];
}

function whyNotFetched(failure: ErrorCode | null): string | null {
  return (
    failure && `could not be fetched (${failure}: ${CATALOGUE[failure].title}). Repeat the request later`
  );
}

function apartWarnings({ totalsApart = [], fields, parts, totals }: AssembleInput): readonly Warning[] {
  const apart = totalsApart.filter(({ column }) => fields?.includes(column) ?? true);
  if (apart.length === 0 || totals === null) return [];
  const named = someOf(
    apart.map(({ column, total, sum }) => `${column} ${shownAs(total)} instead of ${shownAs(sum)}`),
  );
  const why = parts.every(({ header }) => areTogether(header, totals.header))
    ? 'Both were fetched at once: the platform counts what no row has, or the same in several rows, or was still completing these days.'
    : 'Both were fetched at different times, and the platform probably changed a day in between. For the whole period use meta.totals; if the rows stay apart from them, ask your operator to purge these days from the cache.';
  const message = `The totals of the platform (meta.totals) are not the sums of the rows: ${named}. ${why}`;
  return [{ code: 'totals_differ', message }];
}

/** Whether neither call began after the other had ended. */
function areTogether(one: Entry['header'], other: Entry['header']): boolean {
  return one.fetchStartedAt <= other.fetchedAt && other.fetchStartedAt <= one.fetchedAt;
}

function schemaWarnings(parts: readonly Entry<RowsHeader>[]): readonly Warning[] {
  const days = parts.flatMap(({ header }) =>
    header.splitFrom !== null && header.rowCount > 0 ? header : [],
  );
  const mix = schemaMix(days);
  if (mix === null) return [];
  const { partial, retyped } = mix;
  const differences = [
    ...(partial.length === 0 ? [] : [`some days lack ${someOf(partial)}`]),
    ...(retyped.length === 0 ? [] : [`${someOf(retyped)} contained numbers on some days and text on others`]),
  ];
  const message = `The platform returned days of this period with different columns: ${differences.join('; ')}. Do not treat missing values as 0.`;
  return [{ code: 'schema_mixed', message }];
}

/** Of splits but by date, whose rows say their day, by the names of columns: `byCreative` gives `creativeId` or the like. */
function splitWarnings({ split }: Report, parts: readonly Entry<RowsHeader>[]): readonly Warning[] {
  // Of what is perhaps no report, `shape_unknown` says so.
  const reports = parts.filter(({ header }) => header.doubt === undefined);
  const columns = new Set(reports.flatMap(({ header }) => header.columns.map((name) => name.toLowerCase())));
  const isShown = (name: string) => [...columns].some((column) => column.startsWith(name.toLowerCase()));
  const lacking = split.filter((name) => name !== 'date' && !isShown(name));
  if (columns.size === 0 || lacking.length === 0) return [];
  const message = `No column of the rows begins with ${someOf(lacking)}, of meta.split: perhaps the platform does not know this split. Look at the columns before you read the rows as split by it.`;
  return [{ code: 'split_not_shown', message }];
}

const FORGOTTEN = {
  beyond_retention: 'The platform no longer returns the rows of',
  all_days_empty:
    'The platform returns no rows for any day, not even for recent ones: access may be lost, or the account closed. Affected:',
};

function forgottenWarnings(
  { split }: Report,
  parts: readonly Entry<RowsHeader>[],
  rules: FinalRules,
): readonly Warning[] {
  const all = parts.flatMap(({ header }) => {
    const missing = lackingDays(header, rules);
    if (missing.length === 0) return header.forgotten ?? [];
    return { code: 'beyond_retention' as const, days: [], missing, sinceMs: header.fetchedAt };
  });
  return (['beyond_retention', 'all_days_empty'] as const).flatMap((code) => {
    const some = all.filter((one) => one.code === code);
    if (some.length === 0) return [];
    const [served, missing] = [some.flatMap(({ days }) => days), some.flatMap((one) => one.missing ?? [])];
    const since = new Date(Math.min(...some.map(({ sinceMs }) => sinceMs))).toISOString();
    const sentences = [
      ...(served.length === 0
        ? []
        : [
            `${FORGOTTEN[code]} ${someOf(served)}. These days are served from history, as last seen. If their rows are really gone, an operator confirms it with dsp-gateway history accept-empty.`,
          ]),
      ...(missing.length === 0 ? [] : [missingDays(missing, split.includes('date'))]),
    ];
    const days = [...served, ...missing].toSorted();
    const message = sentences.join(' ');
    return [{ code, message, days, ...(missing.length === 0 ? {} : { missing }), since }];
  });
}

function missingDays(days: readonly string[], isByDate: boolean): string {
  return isByDate
    ? `Rows of ${someOf(days)} are missing: these days are older than what the platform returns, and are not served from history. Do not take them for 0.`
    : `The numbers lack ${someOf(days)}: these days are older than what the platform returns. Begin the period later, or add byDate=1, which returns days from history where it has them.`;
}

/** First numbers fetched later have probably changed before. */
const LATE_HOURS = 24;

function historyWarnings(past: Past | null): readonly Warning[] {
  if (past === null) return [];
  const daysThat = (isMeant: (day: KnownDay) => boolean) =>
    [...past.days].filter(([, day]) => isMeant(day)).map(([date]) => date);
  const inexact = (code: 'thinned' | 'history_missed', lacks: KnownDay['lacks'], why: string) => {
    const days = daysThat((day) => day.lacks === lacks);
    const message = `The latest state of ${someOf(days)} at that time ${why}. A slightly earlier one is shown; meta.days (_days=1) has the times.`;
    return days.length === 0 ? [] : [{ code, message }];
  };
  const late = daysThat(({ ageHours }) => (ageHours ?? 0) > LATE_HOURS);
  const lateMessage = `Not requested within ${LATE_HOURS} hours of its end: ${someOf(late)}. The first numbers shown may have changed before. meta.days (_days=1) has the age of each day (ageHours).`;
  return [
    ...inexact('thinned', 'thinned', 'was removed to save space'),
    ...inexact('history_missed', 'missed', 'could not be recorded because the store was unavailable'),
    ...(late.length === 0 ? [] : [{ code: 'first_seen_late' as const, message: lateMessage }]),
  ];
}

/** @param days that `_final=only` leaves out. @param isEmpty no day is left */
function leftOutWarnings(days: readonly string[], isEmpty: boolean, rules: FinalRules): readonly Warning[] {
  if (days.length === 0) return [];
  const rest = isEmpty ? 'No day of the period is left, so there are no rows. ' : '';
  const message = `Left out because they are not final: ${expectedFinalDates(days, rules)}. ${rest}Without _final=only they are included as they are now.`;
  return [{ code: 'provisional_days_left_out', message, days }];
}
