/** The report call as schemas, made from the tables that its parser reads; for the OpenAPI document. */
import Type, { type TObject, type TSchema } from 'typebox';
import { WARNING_CODES } from '../rows/warnings.js';
import { FINAL_FILTERS, FORMATS, VINTAGES } from './output-options.js';
import type { GatewayParameter, Kind, ParameterTable } from './parameters.js';
import { PERIOD_WORDS } from './period.js';

const KINDS: Readonly<Record<Kind, TSchema>> = {
  int: Type.Integer({ minimum: 1, description: 'At most 16 digits.' }),
  flag: words(['1', 'true', '0', 'false'], '1 or true: on. Off equals absent.'),
  date: Type.String({ format: 'date', description: 'YYYY-MM-DD', examples: ['2026-11-01'] }),
  set: Type.Array(Type.Integer({ minimum: 1 }), { description: 'Order and repetition mean nothing.' }),
  text: Type.String(),
};

const flag = (description: string) => Type.Optional(words(['1', '0'], description));

const OWN = {
  _format: Type.Optional(words(FORMATS, 'Like the accept header, and stronger.')),
  _totals: flag('1: adds meta.totals, the unsplit report of the same period.'),
  _days: flag('1: adds meta.days, the age of every day.'),
  _period: Type.Optional(
    Type.String({
      description: `Instead of dateFrom and dateTo: ${PERIOD_WORDS}.`,
      examples: ['last_7_days'],
    }),
  ),
  _asOf: Type.Optional(
    Type.String({
      description:
        'An instant with its offset, or a day that is over (its end): the report as it was known then, from history alone.',
      examples: ['2026-11-03T08:00:00Z', '2026-11-03'],
    }),
  ),
  _vintage: Type.Optional(
    words(
      VINTAGES,
      'first: what was seen first of each day after it was over; final: what was seen when it was first final (409 not_final where it is not); both from history alone. latest: the ordinary answer.',
    ),
  ),
  _final: Type.Optional(
    words(
      FINAL_FILTERS,
      'require: 409 not_final where a day of the period is not final; only: such days are left out, and named in meta.warnings.',
    ),
  ),
  _fields: Type.Optional(
    Type.String({
      description:
        'Names of columns with a comma between them, as date,spent: rows have these alone, in this order. Rows are never merged.',
    }),
  ),
  _bom: flag('1: a byte order mark in front of CSV, for Excel.'),
} satisfies Record<GatewayParameter, TSchema>;

/** Query of a GET; unknown parameters of the platform are passed on. */
export function describeQuery(table: ParameterTable): TObject {
  const known = [...table.kinds].map(([name, kind]): [string, TSchema] => [
    kind === 'set' ? `${name}[]` : name,
    Type.Optional(KINDS[kind]),
  ]);
  return Type.Object({ ...Object.fromEntries(known), ...OWN }, { additionalProperties: true });
}

/** Body of a POST that reads. */
export function describeBody(table: ParameterTable): TObject {
  const known = [...table.kinds].map(([name, kind]): [string, TSchema] => [
    name,
    Type.Optional(kind === 'flag' ? Type.Boolean() : KINDS[kind]),
  ]);
  return Type.Object(Object.fromEntries(known), { additionalProperties: true });
}

/** The gateway's own parameters alone, as the query of a POST. */
export const OWN_QUERY: TObject = Type.Object(OWN, { additionalProperties: false });

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const time = (description: string) => Type.String({ format: 'date-time', description });

/** A row, whose members are the platform's. */
const Row = Type.Object(
  {},
  {
    additionalProperties: true,
    title: 'Row',
    description: 'Members are camelCase, dates ISO, numbers where JSON holds them exactly.',
  },
);

const Day = Type.Object(
  {
    date: Type.String({ format: 'date' }),
    asOf: time('When it was fetched.'),
    final: Type.Boolean({ description: 'It was fetched past restatement.' }),
    stale: Type.Boolean({ description: 'It is past its freshness.' }),
    knownFrom: Type.Optional(time('With _asOf or _vintage: since when it was known to be so.')),
    confirmedUntil: Type.Optional(
      time(
        'With _asOf or _vintage: when it was last seen to be so, before it was seen otherwise or till now.',
      ),
    ),
    exact: Type.Optional(
      Type.Boolean({
        description: 'With _asOf: false where something else was seen by then, and is not kept.',
      }),
    ),
    ageHours: Type.Optional(
      Type.Number({
        description: 'With _vintage=first: hours from the end of the day until it was first seen, or 0.',
      }),
    ),
  },
  { title: 'ReportDay' },
);

export const ShownWarning = Type.Object(
  {
    code: Type.String({
      description: `For programs: ${[...WARNING_CODES].sort().join(', ')}; more may come.`,
    }),
    message: Type.String({ description: 'For people: what it means, and what to do.' }),
    days: Type.Optional(
      Type.Array(Type.String({ format: 'date' }), { description: 'All days that it is about.' }),
    ),
    since: Type.Optional(time('When it was first so.')),
  },
  { title: 'Warning' },
);

export const PassedOn = Type.Array(Type.String(), {
  description: 'Parameters the gateway does not know, sent to the platform as given.',
});

const Paging = Type.Object(
  {
    page: nullable(Type.Number()),
    pages: nullable(Type.Number()),
    perPage: nullable(Type.Number()),
    total: nullable(Type.Number()),
  },
  { description: "The platform's own numbers; only there when these rows are not all there are." },
);

/** Of a relative change: half of n days changed by no more than p50, 95 % by no more than p95. */
export const QUANTILES = Type.Object({ p50: Type.Number(), p95: Type.Number(), n: Type.Integer() });

const Meta = Type.Object(
  {
    endpoint: Type.String(),
    advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()], {
      description: 'Null when the platform decides; text where JSON cannot hold it.',
    }),
    period: nullable(
      Type.Object({
        from: nullable(Type.String({ format: 'date' })),
        to: nullable(Type.String({ format: 'date' })),
      }),
    ),
    split: Type.Array(Type.String(), { description: 'By what the rows are split, e.g. date.' }),
    spentBased: nullable(Type.String()),
    rowCount: Type.Integer({ minimum: 0 }),
    asOf: time('The oldest fetch among the parts served.'),
    final: Type.Boolean({ description: 'Every day served, and the totals, were fetched past restatement.' }),
    firstProvisionalDate: Type.Optional(
      Type.String({
        format: 'date',
        description: 'Of reports by date: the first day that is not final; absent where there is none.',
      }),
    ),
    expectedChange: Type.Optional(
      Type.Record(Type.String(), QUANTILES, {
        description:
          'By column: by how much days as old as the youngest that is not final changed until they were, of the greater value; half of n days by no more than p50, 95 % by no more than p95. Absent below 30 days.',
      }),
    ),
    stale: Type.Boolean({ description: 'Some part is past its freshness.' }),
    revision: Type.Optional(
      Type.String({
        description:
          'Names the rows: equal revisions have equal rows, also after a purge. As the header report-revision. Absent for what is not split by day.',
      }),
    ),
    knownAt: Type.Optional(
      time('With _asOf that moment; else when this was known: with _asOf of it the same is given again.'),
    ),
    source: Type.Optional(
      Type.Literal('history', {
        description: 'Some days are from history: the platform gives their rows no more.',
      }),
    ),
    reach: Type.Object({
      summable: Type.Boolean({ description: 'False for rows split by date: people come back.' }),
    }),
    complete: Type.Optional(
      Type.Literal(false, { description: 'The platform gave one page of several: rows are missing.' }),
    ),
    paging: Type.Optional(Paging),
    days: Type.Optional(Type.Array(Day, { description: 'With _days=1.' })),
    totals: Type.Optional(Row),
    totalsAsOf: Type.Optional(time('When the totals were fetched, where a day was fetched after them.')),
    passedOn: Type.Optional(PassedOn),
    warnings: Type.Optional(
      Type.Array(ShownWarning, { description: 'Absent when there is nothing to warn of.' }),
    ),
  },
  { title: 'ReportMeta' },
);

const EXAMPLE = {
  data: [
    ...[{ date: '2026-11-01', advertiserId: 1, currency: 'USD', impressions: 1204, clicks: 17, spent: 3.42 }],
    ...[{ date: '2026-11-02', advertiserId: 1, currency: 'USD', impressions: 980, clicks: 11, spent: 2.6 }],
  ],
  meta: {
    ...{ endpoint: 'campaigns/get', advertiserId: 1, period: { from: '2026-11-01', to: '2026-11-02' } },
    ...{ split: ['date'], spentBased: null, rowCount: 2, asOf: '2026-11-21T01:02:03.000Z' },
    ...{ final: false, firstProvisionalDate: '2026-11-02', stale: false, reach: { summable: false } },
  },
};

/** The JSON answer. */
export const ANSWER = Type.Object(
  { data: Type.Array(Row), meta: Meta },
  { title: 'Report', examples: [EXAMPLE] },
);

/** A text that is one of these. */
function words(allowed: readonly string[], description: string) {
  return Type.Enum([...allowed], { type: 'string', description });
}
