/** Settings of reports and of pass-through routes. */
import Type from 'typebox';
import {
  choice,
  count,
  flag,
  group,
  list,
  optionalCount,
  optionalText,
  seconds,
  text,
} from './setting-types.js';
import * as values from './values.js';

const freshness = group(
  {
    currentSeconds: seconds(300, 'Freshness of today and later days, and of reports without a period.'),
    restatingSeconds: seconds(3600, 'Freshness of a day within restatementDays.'),
    finalSeconds: seconds(2_592_000, 'Freshness of a final day.'),
    emptySeconds: seconds(
      300,
      'Freshness of a trailing empty, provisional day until confirmed by a second fetch an hour later.',
    ),
    emptyFinalSeconds: seconds(3600, 'The same for a final day.'),
    undeclaredSeconds: seconds(300, 'Freshness of undeclared report endpoints.'),
    negativeSeconds: seconds(30, 'How long the 400, 404 and 422 of the platform are cached.'),
    staleWhileRevalidateSeconds: seconds(
      600,
      'Time after expiry in which the stale answer is served while it is refreshed.',
    ),
    staleIfErrorSeconds: seconds(
      604_800,
      'Time after expiry in which the stale answer is served if the platform fails.',
    ),
  },
  'Freshness by age of a day at the time of fetch.',
);

const columns = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1, description }));

export const endpoint = Type.Object(
  {
    readByPost: flag(false, 'POST with a JSON body reads a report.'),
    rowsAt: optionalText(
      'Dotted path of the row array, or of the only row, e.g. result.rows; `.` or empty: the root; unset: detected.',
      { allowed: 'text' },
    ),
    requiredColumns: columns('Columns required in every row; else 502.'),
    knownColumns: columns(
      'Columns (camelCase), beside usual ones of advertising and those learned, of which a report must have at least one; else 502.',
    ),
    dateField: optionalText('Name of the day column.', { minLength: 1 }),
    rowCap: optionalCount(
      [1, 100_000_000],
      'Row limit of the platform. A response of exactly that many rows is fetched again in halves; a single day of that many is marked incomplete.',
    ),
    currency: optionalText(
      'Currency of money in rows that name none, as ISO 4217, e.g. EUR; the explorer shows it.',
      { pattern: '^[A-Z]{3}$' },
    ),
    divisible: choice(
      ['auto', 'always', 'never'],
      'auto',
      'Whether by-date answers may be split by day. `auto`: learned.',
    ),
    freshness: choice(['own', 'origin'], 'own', '`origin`: by the response headers (RFC 9111).'),
    knownParameters: list(
      'Further valid parameters, as name or path:kind, e.g. filter.status:set; treated neither as misspelled nor as an account, without a warning. Kinds flag, int, set, date, zone and word (default) are for limited teams.',
      { pattern: '^[A-Za-z][A-Za-z0-9_]*(\\.[A-Za-z][A-Za-z0-9_]*)*(:(flag|int|set|date|zone|word))?$' },
    ),
    unknownParameters: choice(
      ['pass', 'refuse'],
      'pass',
      'An unknown parameter that resembles no known one is passed on with a warning, or refused (400).',
    ),
  },
  { additionalProperties: false, default: {} },
);

export const report = group(
  {
    restatementDays: count([5, 0, 365], 'Days before today minus this are final.'),
    freshness,
    endpoints: Type.Record(Type.String({ pattern: '^[a-z0-9._~-]+(/[a-z0-9._~-]+)*$' }), endpoint, {
      default: {
        'campaigns/get': {
          readByPost: true,
          divisible: 'auto',
          freshness: 'own',
          knownParameters: [],
          unknownParameters: 'pass',
        },
      },
      description: 'Report endpoints by path below /api/v1/report/.',
    }),
    mergeGapDays: count(
      [7, 0, 400],
      'Missing days with at most this many cached days between them are fetched in one call.',
    ),
    maxDaysPerCall: count(
      [92, 1, 1000],
      'Maximum range of one by-date platform call; longer ranges are split into parallel calls.',
    ),
    crossCheckEvery: count(
      [200, 0, 1_000_000],
      'One in this many joined answers of a series is compared with a whole answer of the platform, besides the first ones and one a day; 0: never.',
    ),
    accountFields: Type.Array(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_]*$' }), {
      minItems: 1,
      default: ['advertiserId', 'userId'],
      description: 'Parameters that name the account of a report; the first is the default.',
    }),
    accountPattern: text(
      'Names treated as accounts in queries, bodies and rows (lower case, without _ . - [ ]).',
      {
        default: '^(user|account|advertiser|client|customer|agency|owner|parent)ids?$',
        is: values.isPattern,
        allowed: 'a regular expression',
      },
    ),
    limitedTeams: group(
      {
        undeclared: choice(
          ['refuse', 'observe'],
          'refuse',
          'What becomes of a report of a limited team with a parameter that is not declared, or not of its kind: 400 `undeclared_parameter`; or it is passed on unless it looks like an account, and listed by `dsp-gateway status`.',
        ),
      },
      'Teams with a list of advertisers.',
    ),
    nonAccountParameters: list(
      'Parameters and columns that match accountPattern but are not accounts, e.g. clientTimezone; limited teams may send anything in them, expressions and objects too.',
      { pattern: '^[A-Za-z][A-Za-z0-9_]*$' },
    ),
    maxRows: count(
      [1_000_000, 1, 100_000_000],
      'Maximum rows of one platform response; more: 502 upstream_too_large.',
    ),
  },
  'Reports.',
);

export const route = Type.Object(
  {
    method: Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'], { description: 'HTTP method.' }),
    path: Type.String({
      // As the path gate requires; other paths could never match.
      pattern: '^/api/v1(/[A-Za-z0-9._~-]+)*(/\\*)?$',
      description: 'Path; a final * matches one segment.',
    }),
    read: flag(false, 'The POST only reads (scope platform:read).'),
    account: list('Account fields, e.g. body.userId; limited teams must send at least one.', {
      pattern: '^(query|body)\\.[A-Za-z][A-Za-z0-9_]*$',
    }),
    pathChars: Type.String({
      default: '',
      maxLength: 16,
      description: 'Further characters allowed in path segments.',
      allowed: 'at most 16 characters',
    }),
  },
  { additionalProperties: false },
);

export const routes = Type.Array(route, {
  default: [
    {
      method: 'POST',
      path: '/api/v1/campaign/create',
      read: false,
      account: ['body.userId', 'body.advertiserId'],
      pathChars: '',
    },
    {
      method: 'POST',
      path: '/api/v1/campaign/get',
      read: true,
      account: ['body.userId', 'body.advertiserId'],
      pathChars: '',
    },
  ],
  description:
    'Pass-through routes open to limited teams, and POSTs that are reads. Replaces the default list.',
});
