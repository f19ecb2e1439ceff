/** The report call as schemas, made from the tables that its parser reads; for the OpenAPI document. */
import Type, { type TObject, type TSchema } from 'typebox';
import { WARNING_CODES } from '../rows/warnings.js';
import { FINAL_FILTERS, FORMATS, VINTAGES } from './output-options.js';
import type { GatewayParameter, Kind, ParameterTable } from './parameters.js';
import { PERIOD_WORDS } from './period.js';

const KINDS: Readonly<Record<Kind, TSchema>> = {
  int: Type.Integer({ minimum: 1, description: 'At most 16 digits, such as 1.', examples: [1] }),
  flag: switched(['1', 'true', '0', 'false', 1, true, 0, false], '1 or true: on. 0, false or absent: off.'),
  date: Type.String({
    format: 'date',
    description: 'YYYY-MM-DD, such as 2026-11-01.',
    examples: ['2026-11-01'],
  }),
  set: Type.Array(Type.Integer({ minimum: 1 }), {
    description: 'Such as 101 and 102. Order and duplicates are ignored.',
    examples: [[101, 102]],
  }),
  text: Type.String({ examples: ['local'] }),
};

/** Of single parameters, where their kind does not say enough. */
const ABOUT: Readonly<Record<string, string>> = {
  advertiserId: 'The advertiser whose data is reported.',
  byDate: 'Splits the report by date.',
  byCampaign: 'Splits the report by campaign.',
  dateFrom: 'First day of the period.',
  dateTo: 'Last day of the period.',
  campaignIds: "These campaigns alone. The platform's document does not name it.",
  spentBased:
    "Currency of spend: USD or the advertiser's local currency. The platform's document names no values, so any text is passed on; its simulator takes usd (also if absent) and local.",
};

function described(
  name: string,
  { description, ...schema }: TSchema & { readonly description?: string },
): TSchema {
  const all = [ABOUT[name], description].filter((one) => one !== undefined);
  return all.length === 0 ? schema : { ...schema, description: all.join(' ') };
}

const flag = (description: string) => Type.Optional(switched(['1', '0', 1, 0], description));

const OWN = {
  _format: Type.Optional(words(FORMATS, 'Overrides the accept header.', 'csv')),
  _totals: flag('1: adds meta.totals, the unsplit report of the same period.'),
  _days: flag('1: adds meta.days, the fetch time and state of each day.'),
  _period: Type.Optional(
    Type.String({
      description: `Replaces dateFrom and dateTo: ${PERIOD_WORDS}.`,
      examples: ['last_7_days'],
    }),
  ),
  _asOf: Type.Optional(
    Type.String({
      description:
        'An instant with a UTC offset, or a past day (its end), such as 2026-11-03T08:00:00Z or 2026-11-03. Returns the report as known at that time, from history only.',
      examples: ['2026-11-03T08:00:00Z', '2026-11-03'],
    }),
  ),
  _vintage: Type.Optional(
    words(
      VINTAGES,
      'first: the first numbers recorded after each day ended. final: the first final numbers of each day (409 not_final if a day has none). Both are read from history only. latest: the ordinary answer.',
      'latest',
    ),
  ),
  _final: Type.Optional(
    words(
      FINAL_FILTERS,
      'require: 409 not_final if a day of the period is not final. only: such days are left out and listed in meta.warnings.',
      'only',
    ),
  ),
  _fields: Type.Optional(
    Type.String({
      description:
        'Comma-separated column names, such as date,spent. Rows contain only these columns, in this order. Rows are never merged.',
      examples: ['date,spent'],
    }),
  ),
  _bom: flag('1: starts CSV with a byte order mark, for Excel.'),
} satisfies Record<GatewayParameter, TSchema>;

/** Query of a GET; unknown parameters of the platform are passed on. */
export function describeQuery(table: ParameterTable): TObject {
  const known = [...table.kinds].map(([name, kind]): [string, TSchema] => [
    kind === 'set' ? `${name}[]` : name,
    Type.Optional(described(name, KINDS[kind])),
  ]);
  const rank = (name: string) => {
    const at = READING_ORDER.indexOf(name);
    if (table.kinds.get(name) === 'int') return -1;
    return at < 0 ? READING_ORDER.length : at;
  };
  const all = [...known, ...Object.entries(OWN)]
    .toSorted(([a], [b]) => rank(a) - rank(b))
    .map(([name, schema]) => [
      name,
      name in FILLED_IN ? Type.Optional({ ...schema, example: FILLED_IN[name] }) : schema,
    ]);
  return Type.Object(Object.fromEntries(all), { additionalProperties: true });
}

/** After the advertiser. Parameters that are not named here follow as they come. */
const READING_ORDER = [
  '_period',
  'dateFrom',
  'dateTo',
  'byDate',
  'byCampaign',
  'campaignIds[]',
  'spentBased',
];
/** With which the reference fills in a call to be tried. Without dates, which exclude `_period`. */
const FILLED_IN: Readonly<Record<string, unknown>> = {
  advertiserId: 1,
  _period: 'last_7_days',
  byDate: '1',
};

/** Body of a POST that reads. */
export function describeBody(table: ParameterTable): TObject {
  const known = [...table.kinds].map(([name, kind]): [string, TSchema] => [
    name,
    Type.Optional(described(name, kind === 'flag' ? Type.Boolean() : KINDS[kind])),
  ]);
  return Type.Object(Object.fromEntries(known), { additionalProperties: true });
}

/** The gateway's own parameters alone, as the query of a POST. */
export const OWN_QUERY: TObject = Type.Object(OWN, { additionalProperties: false });

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const time = (description: string) => Type.String({ format: 'date-time', description });

const figure = nullable(Type.Union([Type.Number(), Type.String()]));
/** Source: the platform document names `reach` alone; the others are usual (decision 28). */
export const USUAL_COLUMNS = {
  date: nullable(Type.String({ description: 'With byDate: YYYY-MM-DD.' })),
  campaignId: figure,
  campaignName: nullable(Type.String()),
  impressions: figure,
  clicks: figure,
  spent: figure,
  reach: figure,
};

const Row = Type.Object(
  Object.fromEntries(Object.entries(USUAL_COLUMNS).map(([name, schema]) => [name, Type.Optional(schema)])),
  {
    additionalProperties: true,
    title: 'Row',
    description:
      'The columns are those of the platform: the usual ones have a type here, any may be absent, and there are others. Names are camelCase. A number that JSON cannot represent exactly is a string.',
  },
);

const Day = Type.Object(
  {
    date: Type.String({ format: 'date' }),
    asOf: time('When it was fetched.'),
    final: Type.Boolean({ description: 'The day was fetched after its restatement period.' }),
    stale: Type.Boolean({ description: 'The day is older than its freshness period.' }),
    knownFrom: Type.Optional(time('With _asOf or _vintage: when these numbers were first seen.')),
    confirmedUntil: Type.Optional(
      time('With _asOf or _vintage: when these numbers were last seen, before they changed or until now.'),
    ),
    exact: Type.Optional(
      Type.Boolean({
        description: 'With _asOf: false if a later state was seen by that time but is not available.',
      }),
    ),
    ageHours: Type.Optional(
      Type.Number({
        description: 'With _vintage=first: hours from the end of the day to its first fetch, at least 0.',
      }),
    ),
  },
  { title: 'ReportDay' },
);

export const ShownWarning = Type.Object(
  {
    code: Type.String({
      description: `For programs: ${[...WARNING_CODES].sort().join(', ')}. More may be added.`,
    }),
    message: Type.String({ description: 'For people: what happened, and what to do.' }),
    days: Type.Optional(Type.Array(Type.String({ format: 'date' }), { description: 'All affected days.' })),
    missing: Type.Optional(
      Type.Array(Type.String({ format: 'date' }), {
        description: 'Of beyond_retention: those of days that the answer lacks.',
      }),
    ),
    since: Type.Optional(time('When this was first seen.')),
    rows: Type.Optional(Type.Integer({ description: 'Row count at which the platform cut its answer off.' })),
  },
  { title: 'Warning' },
);

export const PassedOn = Type.Array(Type.String(), {
  description: 'Parameters that the gateway does not know, sent to the platform unchanged.',
});

const Paging = Type.Object(
  {
    page: nullable(Type.Number()),
    pages: nullable(Type.Number()),
    perPage: nullable(Type.Number()),
    total: nullable(Type.Number()),
  },
  { description: "The platform's paging numbers; present only if rows are missing." },
);

/** Of a relative change: half of n days changed by no more than p50, 95 % by no more than p95. */
export const QUANTILES = Type.Object({ p50: Type.Number(), p95: Type.Number(), n: Type.Integer() });

const Meta = Type.Object(
  {
    endpoint: Type.String(),
    advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()], {
      description: 'Null if the platform chooses; a string if JSON cannot represent the number.',
    }),
    period: nullable(
      Type.Object({
        from: nullable(Type.String({ format: 'date' })),
        to: nullable(Type.String({ format: 'date' })),
      }),
    ),
    split: Type.Array(Type.String(), { description: 'Dimensions of the rows, e.g. date.' }),
    spentBased: nullable(Type.String()),
    rowCount: Type.Integer({ minimum: 0 }),
    asOf: time('Time of the oldest fetch in the answer.'),
    final: Type.Boolean({
      description:
        'All days, and the totals shown, were fetched after their restatement period, while the platform still had them, and the answer is a report without doubt.',
    }),
    firstProvisionalDate: Type.Optional(
      Type.String({
        format: 'date',
        description: 'Reports by date only: the first day that is not final; absent if all are final.',
      }),
    ),
    expectedChange: Type.Optional(
      Type.Record(Type.String(), QUANTILES, {
        description:
          'By column: how much days as old as the youngest provisional day changed until they were final, relative to the larger value. Half of n days changed by at most p50, 95 % by at most p95. Absent below 30 days.',
      }),
    ),
    stale: Type.Boolean({
      description:
        'A part is older than its freshness period, or than the caller asked for because the platform failed.',
    }),
    revision: Type.Optional(
      Type.String({
        description:
          'Identifies the rows: equal revisions have equal rows, also after a purge. Equals the header report-revision. Absent for reports that are not split by day.',
      }),
    ),
    knownAt: Type.Optional(
      time('With _asOf: that time. Else the time of this state: _asOf with this value returns it again.'),
    ),
    source: Type.Optional(
      Type.Literal('history', {
        description: 'Some days are from history: the platform no longer returns their rows.',
      }),
    ),
    reach: Type.Object({
      summable: Type.Boolean({ description: 'False for split rows: a person may be counted in several.' }),
    }),
    complete: Type.Optional(
      Type.Literal(false, {
        description:
          'The platform returned one page of several, or cut its answer off at a row limit: rows are missing.',
      }),
    ),
    paging: Type.Optional(Paging),
    days: Type.Optional(Type.Array(Day, { description: 'With _days=1.' })),
    totals: Type.Optional(Row),
    totalsAsOf: Type.Optional(time('With totals: when they were fetched.')),
    passedOn: Type.Optional(PassedOn),
    warnings: Type.Optional(Type.Array(ShownWarning, { description: 'Absent if there are none.' })),
  },
  { title: 'ReportMeta' },
);

const EXAMPLE = {
  data: [
    ...[{ date: '2026-11-01', advertiserId: 1, currency: 'USD', impressions: 1204, clicks: 17, spent: 3.42 }],
    ...[{ date: '2026-11-02', advertiserId: 1, currency: 'USD', impressions: 980, clicks: 11, spent: 2.6 }],
  ],
  meta: {
    endpoint: 'campaigns/get',
    advertiserId: 1,
    period: { from: '2026-11-01', to: '2026-11-02' },
    split: ['date'],
    spentBased: null,
    rowCount: 2,
    asOf: '2026-11-21T01:02:03.000Z',
    final: false,
    firstProvisionalDate: '2026-11-02',
    stale: false,
    reach: { summable: false },
  },
};

export const ANSWER = Type.Object(
  { data: Type.Array(Row), meta: Meta },
  { title: 'Report', examples: [EXAMPLE] },
);

/** @param allowed numbers and booleans, too: a typed client takes them, and they are the same text in a query */
function switched(allowed: readonly (string | number | boolean)[], description: string) {
  return Type.Unsafe({ enum: allowed, description, examples: ['1'] });
}

function words(allowed: readonly string[], description: string, example: string) {
  return Type.Enum([...allowed], { type: 'string', description, examples: [example] });
}
