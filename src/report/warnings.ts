/** What a caller should know of an answer beside its rows: `meta.warnings`. */
import type { KnownDay, Past } from './answer.js';
import type { CanonicalReport } from './canonicalize.js';
import { schemaMix } from './column-kinds.js';
import type { Entry, RowsHeader } from './entry.js';
import { FLAW_CODES, type Flaw, joinFlaws } from './flaws.js';
import { type FinalRules, tellExpected } from './freshness.js';
import { didYouMean } from './parameters.js';

/** For programs. */
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
  'thinned',
  'totals_unavailable',
] as const;

export interface Warning {
  readonly code: (typeof WARNING_CODES)[number];
  /** For people: what it means, and what to do. */
  readonly message: string;
  /** All days that it is about. */
  readonly days?: readonly string[];
  /** When it was first so, as an instant. */
  readonly since?: string;
}

/** @param totals the unsplit report of the same period, when it was asked for */
export function warningsOf(
  report: CanonicalReport,
  parts: readonly Entry[],
  totals: Entry | null,
): readonly Warning[] {
  const all = totals === null ? parts : [...parts, totals];
  const doubt = all.map(({ header }) => (header.form === 'rows' ? header.doubt : undefined)).find(Boolean);
  const missing = totals === null ? null : whyNoTotals(totals, parts);
  return [
    ...questionWarnings(report),
    ...(doubt === undefined ? [] : [shapeUnknown(report.endpoint, doubt)]),
    ...flawWarnings(all),
    ...(missing === null ? [] : [totalsUnavailable(missing)]),
  ];
}

/** What can be said of a question before there is an answer. */
export function questionWarnings(report: CanonicalReport): readonly Warning[] {
  const chosen = chosenByPlatform(report);
  return [
    ...(report.passedOn.length === 0 ? [] : [parametersPassedOn(report)]),
    ...(chosen === null ? [] : [platformChosePeriod(chosen)]),
  ];
}

/** Names that a message tells; `meta.passedOn` has them all. */
const MOST_NAMED = 5;

function parametersPassedOn({ endpoint, passedOn }: CanonicalReport): Warning {
  // Those that are probably slips first: they are what has to be mended.
  const told = [...passedOn].sort((a, b) => Number(b.meant.length > 0) - Number(a.meant.length > 0));
  const named = told
    .slice(0, MOST_NAMED)
    .map(({ name, meant }) => (meant.length === 0 ? name : `${name} (${didYouMean(...meant)})`));
  const more = told.length > MOST_NAMED ? [`${told.length - MOST_NAMED} more in meta.passedOn`] : [];
  return {
    code: 'parameters_passed_on',
    message: `Not known to the gateway, and sent to the platform as given: ${[...named, ...more].join(', ')}. A platform that does not know them either ignores them without a word. Correct what is misspelt; an operator can list what the platform reads under report.endpoints."${endpoint}".knownParameters.`,
  };
}

/** @returns the parameters whose absence left it to the platform; null when the whole period was given */
function chosenByPlatform({ from, to }: CanonicalReport): string | null {
  const left = [...(from.iso === null ? ['dateFrom'] : []), ...(to.iso === null ? ['dateTo'] : [])];
  return left.length === 0 ? null : left.join(' and ');
}

function platformChosePeriod(left: string): Warning {
  return {
    code: 'platform_chose_period',
    message: `Without ${left} the platform chose which days the rows are about, and may choose others tomorrow. Give dateFrom and dateTo, or _period.`,
  };
}

function shapeUnknown(endpoint: string, doubt: string): Warning {
  return {
    code: 'shape_unknown',
    message: `The platform's answer may be no report: ${doubt}. It was not kept. If it is one, say so with report.endpoints."${endpoint}".rowsAt, requiredColumns or knownColumns.`,
  };
}

/** What was visibly not asked for, with the days where it is of days. */
function flawWarnings(parts: readonly Entry[]): readonly Warning[] {
  return joinFlaws(parts.map(({ header }) => header)).map(({ code, text }) => {
    const held = parts.filter(({ header }) => header.flaws?.some((flaw) => flaw.code === code));
    const days = held.flatMap(({ header }) =>
      header.form === 'rows' && header.splitFrom !== null ? [header.lastDay as string] : [],
    );
    const said = code === 'platform_warning' && text !== undefined ? `: ${text}` : '';
    const message = `${FLAW_WORDS[code]}${said}. The rows are passed on as given. The answer is not final and not in the history, and is kept for five minutes at most.`;
    return { code, message, ...(days.length === 0 ? {} : { days }) };
  });
}

const FLAW_WORDS: Readonly<Record<Flaw['code'], string>> = {
  duplicate_rows:
    'The platform gave the same row more than once. Do not add up the rows before one of them is removed',
  pages_left:
    'The platform gave one page of several, so that rows are missing (meta.complete, meta.paging). Do not add up the rows; tell your operator',
  platform_warning: 'The platform gave a warning with its answer',
  rows_of_other_advertisers:
    'The platform gave rows of advertisers that were not asked for. Leave them out before the rows are added up',
  rows_of_other_campaigns:
    'The platform gave rows of campaigns that were not asked for. Leave them out before the rows are added up',
  rows_outside_filter:
    'The platform gave rows with other values than the question has for their column. Leave them out before the rows are added up',
  rows_outside_range:
    'The platform gave rows of days outside of the period. Leave them out before the rows are added up',
  undated_rows:
    'The platform gave rows without a date, though the report is split by date. They may be totals: do not add them to the others',
};

/** @returns null when the unsplit report is the one row that totals are */
export function whyNoTotals({ header }: Entry, parts: readonly Entry[]): string | null {
  if (header.form !== 'rows') return 'is not one of rows';
  const isRecalled = parts.some((part) => part.header.form === 'rows' && part.header.forgotten !== undefined);
  if (header.rowCount === 1) return isRecalled ? 'may lack days whose rows are from history' : null;
  return header.rowCount === 0 ? 'has no row' : `has ${header.rowCount} rows where one was expected`;
}

function totalsUnavailable(why: string): Warning {
  return {
    code: 'totals_unavailable',
    message: `meta.totals is missing: the platform's unsplit report of this period ${why}. Do not add up the rows instead where meta.reach.summable is false.`,
  };
}

/** Days of different columns in one answer. */
export function schemaWarnings(parts: readonly Entry<RowsHeader>[]): readonly Warning[] {
  const days = parts.flatMap(({ header }) =>
    header.splitFrom !== null && header.rowCount > 0 ? header : [],
  );
  const mix = schemaMix(days);
  if (mix === null) return [];
  const named = (columns: readonly string[]) =>
    columns.slice(0, MOST_NAMED).join(', ') + (columns.length > MOST_NAMED ? ' and others' : '');
  const told = [
    ...(mix.partial.length === 0 ? [] : [`on some days there is no ${named(mix.partial)}`]),
    ...(mix.retyped.length === 0
      ? []
      : [`${named(mix.retyped)} held numbers on some days and texts on others`]),
  ];
  return [
    {
      code: 'schema_mixed',
      message: `The platform gave days of this period with different columns: ${told.join('; ')}. Do not take what is missing for 0.`,
    },
  ];
}

const FORGOTTEN = {
  beyond_retention: 'no longer gives the rows of',
  all_days_empty:
    'gives no rows for any day, not even for young ones: access may be lost, or the account closed. That is not believed of',
};

/** Days that are from history, for the platform has their rows no more. */
export function forgottenWarnings(parts: readonly Entry<RowsHeader>[]): readonly Warning[] {
  const all = parts.flatMap(({ header }) => header.forgotten ?? []);
  return (['beyond_retention', 'all_days_empty'] as const).flatMap((code) => {
    const some = all.filter((one) => one.code === code);
    if (some.length === 0) return [];
    const days = some.flatMap((one) => one.days);
    const since = new Date(Math.min(...some.map(({ sinceMs }) => sinceMs))).toISOString();
    const message = `The platform ${FORGOTTEN[code]} ${namedDays(days)}: they are given from history, as they were seen last. An operator who knows that the rows are gone says so with dsp-gateway history accept-empty.`;
    return [{ code, message, days, since }];
  });
}

/** What was known then, but is not kept. */
export function historyWarnings(past: Past | null): readonly Warning[] {
  const lacking = (what: KnownDay['lacks']) =>
    [...(past?.days ?? [])].filter(([, { lacks }]) => lacks === what).map(([date]) => date);
  const [thinned, missed] = [lacking('thinned'), lacking('missed')];
  return [
    ...(thinned.length === 0 ? [] : [notExact('thinned', thinned, 'was removed since to save room')]),
    ...(missed.length === 0
      ? []
      : [notExact('history_missed', missed, 'could not be written down, for the store was away')]),
    ...firstSeenLate(past),
  ];
}

/** After so long the first numbers of a day are hardly those that others saw first. */
const LATE_HOURS = 24;

function firstSeenLate(past: Past | null): readonly Warning[] {
  const late = [...(past?.days ?? [])]
    .filter(([, { ageHours }]) => (ageHours ?? 0) > LATE_HOURS)
    .map(([date]) => date);
  if (late.length === 0) return [];
  return [
    {
      code: 'first_seen_late',
      message: `Nobody asked for ${namedDays(late)} within ${LATE_HOURS} hours of its end: what is shown as first may have been changed before. meta.days (_days=1) says how old each day was (ageHours).`,
    },
  ];
}

/** Days that were asked for and are not final, where such days were not wanted. @param isNothing no day is left */
export function leftOutWarnings(
  dates: readonly string[],
  isNothing: boolean,
  rules: FinalRules,
): readonly Warning[] {
  if (dates.length === 0) return [];
  const rest = isNothing ? 'No day of the period is left, so there are no rows. ' : '';
  return [
    {
      code: 'provisional_days_left_out',
      message: `Left out, for they are not final: ${tellExpected(dates, rules)}. ${rest}Without _final=only they are given as they are now.`,
      days: dates,
    },
  ];
}

function namedDays(dates: readonly string[]): string {
  return dates.slice(0, MOST_NAMED).join(', ') + (dates.length > MOST_NAMED ? ' and others' : '');
}

function notExact(code: Warning['code'], dates: readonly string[], why: string): Warning {
  return {
    code,
    message: `What was seen last by then of ${namedDays(dates)} ${why}: what is shown was seen a little earlier. meta.days (_days=1) says when.`,
  };
}
