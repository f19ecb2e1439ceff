/** The shown report and its view: in the address, and as calls of the gateway. Pure. */
import { moment } from '../ui/format.js';
import { hrefOf } from '../ui/route.js';
import { dates } from './dates.js';

export interface Question {
  /** Path below `/api/v1/report/`, `campaigns/get`. */
  readonly endpoint: string;
  readonly advertiserId: string;
  /** Advertisers beside it: each is asked on its own, and all are shown together. */
  readonly others: readonly string[];
  /** `_period`; empty: `dateFrom` to `dateTo`. */
  readonly period: string;
  readonly dateFrom: string;
  readonly dateTo: string;
  /** Parameters that split, `byDate`. */
  readonly splits: readonly string[];
  /** Empty: the platform's default. */
  readonly spentBased: string;
  /** A UTC time in the form of a field, `2026-11-20T08:00`, or a day: its end; empty: now. */
  readonly asOf: string;
}

/** Members of the view that another question keeps. */
const KEPT = [
  'metric',
  'by',
  'shape',
  'lines',
  'against',
  'weekdays',
  'otherFrom',
  'otherTo',
  'finals',
] as const;
const VIEW = [...KEPT, 'sort', 'filter', 'panel', 'tool', 'between', 'gaps'] as const;

/** At once: each is a report of its own. */
export const MOST_ADVERTISERS = 20;

/**
 * State of the page. `by`: `week` or `month`, else by day; `shape` of the chart: `lines`, else stacked; `lines` of several
 * advertisers: `split`, else one for each; `sort`: a column, with `-` in front for descending; `against`: `previous`,
 * `month`, `days`, `year`, `custom` or empty; `weekdays`: `1` aligns both periods by weekday; `otherFrom`, `otherTo`: the days of `custom`;
 * `finals`: `1` compares only days that the platform has completed;
 * `panel`: `explain`, `code` or `diff`; `tool`: of the panel `code`; `between`: the two moments of a diff, as UTC times,
 * `first` or `latest`; `gaps`: `1` shows what was known at an earlier time, without the days that were not.
 */
export type ViewState = Readonly<Record<(typeof VIEW)[number], string>>;

export type SetView = (view: Partial<ViewState>, replace?: boolean) => void;

/** Of the button that opens a panel, and closes it. */
export const openerOf = ({ view, setView }: Pick<Viewed, 'view' | 'setView'>, panel: string) => ({
  'aria-expanded': view.panel === panel,
  act: () => setView({ panel: view.panel === panel ? '' : panel }, true),
});

/** Properties of the parts of an answer. */
export interface Viewed {
  readonly question: Question;
  readonly view: ViewState;
  readonly setView: SetView;
  readonly about: About;
}

/** What is shown, in words. */
export interface About {
  /** Of the report, `Campaigns`. */
  readonly title: string;
  /** Its name; null: unknown. */
  readonly advertiser: string | null;
  /** The name of an advertiser; null: unknown. */
  readonly nameOf: (id: string) => string | null;
  /** Of money in rows that name none; null: unknown. */
  readonly currency: string | null;
}

/** Values of `_period` with titles. */
export const PERIODS = [
  ['yesterday', 'Yesterday'],
  ['today', 'Today'],
  ['last_7_days', 'Last 7 days'],
  ['last_30_days', 'Last 30 days'],
  ['last_90_days', 'Last 90 days'],
  ['month_to_date', 'Month to date'],
  ['last_month', 'Last month'],
] as const;

export const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** Names of splits, as `isSplit` of the gateway has them. */
export const SPLIT = /^by[A-Z]\w*$/;

export const FIRST_QUESTION: Question = {
  endpoint: 'campaigns/get',
  advertiserId: '',
  others: [],
  period: 'last_30_days',
  dateFrom: '',
  dateTo: '',
  splits: ['byDate', 'byCampaign'],
  spentBased: '',
  asOf: '',
};

/** @returns null if the address names no report */
export function readQuestion(query: URLSearchParams): Question | null {
  if (!query.has('advertiserId')) return null;
  const of = (name: string) => query.get(name) ?? '';
  const [advertiserId = '', ...others] = new Set(query.getAll('advertiserId'));
  return {
    endpoint: of('endpoint') || FIRST_QUESTION.endpoint,
    advertiserId,
    others,
    period: of('_period'),
    dateFrom: of('dateFrom'),
    dateTo: of('dateTo'),
    splits: [
      ...new Set([...query].flatMap(([name, value]) => (SPLIT.test(name) && value === '1' ? [name] : []))),
    ],
    spentBased: of('spentBased'),
    asOf: of('asOf'),
  };
}

export function readView(query: URLSearchParams): ViewState {
  return Object.fromEntries(VIEW.map((name) => [name, query.get(name) ?? ''])) as ViewState;
}

/** @returns what another question keeps of the view. Of a month to date the period before is the same days of the month before */
export function keptOf(view: ViewState, { period }: Question): Partial<ViewState> {
  const kept = Object.fromEntries(KEPT.map((name) => [name, view[name]]));
  const isSame = period === 'month_to_date' && view.against === 'previous';
  return isSame ? { ...kept, against: 'month' } : kept;
}

/** The address of a report on this page. */
export const reportHref = (question: Question, view: Partial<ViewState> = {}): string =>
  hrefOf(['report'], {
    endpoint: question.endpoint,
    ...Object.fromEntries(parametersOf({ ...question, asOf: '' })),
    advertiserId: advertisersOf(question),
    asOf: question.asOf,
    ...view,
  });

export const advertisersOf = ({ advertiserId, others }: Question): string[] => [advertiserId, ...others];

/** The question for one advertiser. */
export const ofOne = (question: Question, advertiserId: string): Question => ({
  ...question,
  advertiserId,
  others: [],
});

/** @returns one question for each advertiser */
export const eachOf = (question: Question): Question[] =>
  advertisersOf(question).map((id) => ofOne(question, id));

/** The parameters that determine the answer for the first advertiser. */
export function parametersOf(question: Question): [name: string, value: string][] {
  const { advertiserId, period, dateFrom, dateTo, splits, spentBased, asOf } = ofItsDays(question);
  const isNamed = period !== '';
  const all: [string, string][] = [
    ['advertiserId', advertiserId],
    ...splits.map((split): [string, string] => [split, '1']),
    ['_period', period],
    ['dateFrom', isNamed ? '' : dateFrom],
    ['dateTo', isNamed ? '' : dateTo],
    ['spentBased', spentBased],
    ['_asOf', instantOf(asOf)],
  ];
  return all.filter(([, value]) => value !== '');
}

/** The days of a relative period on the day of an earlier time, as the gateway has them on the day itself; null: the gateway tells. */
export function periodThen({ period, asOf }: Question): Period | null {
  const day = asOf.slice(0, 10);
  if (!Number.isFinite(Date.parse(day))) return null;
  const first = `${day.slice(0, 7)}-01`;
  const count = period === 'yesterday' ? '1' : /^last_([1-9]\d{0,2})_days$/.exec(period)?.[1];
  if (count !== undefined) return { from: dayAfter(day, -Number(count)), to: dayAfter(day, -1) };
  if (period === 'today') return { from: day, to: day };
  if (period === 'month_to_date') return { from: first, to: day };
  const last = dayAfter(first, -1);
  return period === 'last_month' ? { from: `${last.slice(0, 7)}-01`, to: last } : null;
}

/** The question with the days of its relative period, if it is of an earlier time. */
export function ofItsDays(question: Question): Question {
  const then = periodThen(question);
  return then === null ? question : { ...question, period: '', dateFrom: then.from, dateTo: then.to };
}

/** The same days, with the numbers of now. */
export const ofNow = (question: Question): Question => ({ ...ofItsDays(question), asOf: '' });

/** @param field value of a date-time field, UTC */
export const instantOf = (field: string): string =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(field) ? `${field}:00Z` : field;

/** @param asOf of a question. @returns `Nov 20, 2026 08:00 UTC`; of a day: its end */
export const thenWords = (asOf: string): string =>
  DATE.test(asOf) ? `${dates.full(asOf)}, at the end of the day` : moment(instantOf(asOf));

/** @param more parameters of the gateway, `{"_totals":"1"}` */
export function pathOf(question: Question, more: Readonly<Record<string, string>> = {}): string {
  return `${placeOf(question)}?${queryOf(question, more)}`;
}

/** Requests the totals, which have no history. */
export const besideOf = ({ asOf }: Question): Readonly<Record<string, string>> =>
  asOf === '' ? { _totals: '1' } : {};

/** The path without its query. */
export function placeOf({ endpoint }: Question): string {
  return `/api/v1/report/${endpoint.split('/').map(encodeURIComponent).join('/')}`;
}

export function queryOf(question: Question, more: Readonly<Record<string, string>> = {}): URLSearchParams {
  return new URLSearchParams([...parametersOf(question), ...Object.entries(more)]);
}

/** History takes no earlier time: of one it has the days. @param more parameters of the call */
export function aboutPath(
  call: 'explain' | 'diff' | 'revisions',
  question: Question,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = call === 'explain' ? queryOf(question, besideOf(question)) : queryOf(ofNow(question));
  return `/gateway/v1/${call}?${new URLSearchParams({ endpoint: question.endpoint, query: query.toString(), ...more })}`;
}

/** Whether the text is the id of an advertiser. */
export const isId = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text);

/** @returns why the query is incomplete; null: it is complete */
export function faultOf(question: Question): string | null {
  const { period, dateFrom, dateTo, asOf, splits } = question;
  const ids = advertisersOf(question);
  if (!ids.every(isId)) return 'Enter an advertiser: a name from the list, or an id, a whole number.';
  if (ids.length > MOST_ADVERTISERS) return `Choose at most ${MOST_ADVERTISERS} advertisers at once.`;
  if (period === '' && !(DATE.test(dateFrom) && DATE.test(dateTo)))
    return 'Enter the first and the last day.';
  if (period === '' && dateFrom > dateTo) return 'The first day is after the last one.';
  if (asOf !== '' && !splits.includes('byDate'))
    return 'History is kept by day: choose one row per date, or clear “As they were on”.';
  if (asOf.startsWith('T')) return 'Enter the day of “As they were on”, or clear its time.';
  return null;
}

const DAY_MS = 86_400_000;
export const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);

export interface Period {
  readonly from: string;
  readonly to: string;
}

/** All days of a period, both ends included. */
export function daysOf({ from, to }: Period): string[] {
  const count = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
  return Array.from({ length: Math.max(0, Math.min(count, 20_000)) }, (_, index) => dayAfter(from, index));
}

/** Days that follow each other, as periods. @param days in order */
export function runsOf(days: readonly string[]): Period[] {
  const runs: Period[] = [];
  for (const day of days) {
    const last = runs.at(-1);
    if (last !== undefined && dayAfter(last.to, 1) === day) runs.splice(-1, 1, { from: last.from, to: day });
    else runs.push({ from: day, to: day });
  }
  return runs;
}
