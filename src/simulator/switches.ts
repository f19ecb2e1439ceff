import { calendarDay, checkMembers, oneOf, type Rule, text, whole } from './invalid-input.js';

const define = <T>(rule: Rule, initial: NoInfer<T>, about: string) => ({
  ...rule,
  default: initial,
  about,
});
/** The first value is the default. */
const choice = <const T extends readonly [unknown, ...unknown[]]>(values: T, about: string) =>
  define<T[number]>(oneOf(values), values[0], about);
const flag = (initial: boolean, about: string) => define<boolean>(oneOf([true, false]), initial, about);
const number = (least: number, most: number, initial: number, about: string) =>
  define<number>(whole(least, most), initial, about);
const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/;
const headerText = text(/^[\x20-\x7e]{0,200}$/, 'at most 200 printable ASCII characters; empty: no header');

const timeZone: Rule = {
  allowed: 'an IANA time zone such as "UTC" or "America/New_York"',
  accepts(value) {
    try {
      return typeof value === 'string' && new Intl.DateTimeFormat('en', { timeZone: value }) !== null;
    } catch {
      return false;
    }
  },
};
const days: Rule = {
  allowed: 'a list of days, each YYYY-MM-DD',
  accepts: (value) => Array.isArray(value) && value.every(calendarDay.accepts),
};

const instantOrNone: Rule = {
  allowed: 'an instant such as "2026-11-05T12:00:00Z", or empty',
  accepts: (value) =>
    value === '' ||
    (typeof value === 'string' && ISO_INSTANT.test(value) && !Number.isNaN(Date.parse(value))),
};
const since = (about: string) => define<string>(instantOrNone, '', about);

/** Behavior that the platform's document does not specify; the default is the most likely one. */
export const SWITCHES = {
  shape: choice(
    ['data', 'array', 'nested', 'totals', 'paged', 'object'],
    'Container of the rows: {"data":[…]}, an array, {"status","result":{"rows"}}, data with a totals object, data with links and meta, or the unsplit report as an object.',
  ),
  decimals: choice(['strings', 'numbers'], 'Spend as "12.3400" or as 12.34.'),
  ids: choice(['numbers', 'strings'], 'Ids as 7 or as "7".'),
  names: choice(['snake', 'camel'], 'campaign_id or campaignId.'),
  dates: choice(
    ['date', 'datetime', 'iso'],
    '2026-11-01, "2026-11-01 00:00:00", or 2026-11-01T00:00:00.000000Z.',
  ),
  rowsAccount: flag(true, 'Rows have advertiser_id.'),
  accountNames: choice(
    ['none', 'plain', 'hostile'],
    'Rows of campaign reports have advertiser_name; hostile: with markup, formulas, right-to-left text and 200 characters.',
  ),
  rowOrder: choice(['date', 'date-descending', 'campaign'], 'Order of by-date rows.'),
  foreignRows: flag(false, 'Hostile: the second row belongs to another advertiser.'),
  rowCap: number(0, 1_000_000, 0, 'Silent row limit; 0: none.'),
  hugeNumbers: flag(false, 'Numbers beyond JavaScript: 9007199254740993, 1e400, 0.1234567890123456789.'),
  echoToken: flag(false, "Hostile: the caller's token in a header, rows and error bodies."),
  restateDays: number(0, 60, 5, 'Days before today whose numbers still grow.'),
  completion: choice(
    ['linear', 'curves'],
    "How a day's numbers grow. linear: over restateDays; curves: per advertiser, seven of ten until day 3, one each until day 7, 14 and 28.",
  ),
  lateRows: number(0, 100, 0, 'Percentage of campaign days whose row appears one to six days late.'),
  vanishingDays: define<readonly string[]>(days, [], 'Days without rows when two days old.'),
  columnFrom: since('Rows of campaign reports have viewable_impressions from this time on.'),
  renameFrom: since("Each advertiser's first campaign is renamed from this time on, also in old days."),
  timezone: define<string>(timeZone, 'UTC', 'Time zone of days.'),
  divisible: flag(true, 'false: by-date rows depend on both ends of the period, as under attribution.'),
  emptyDays: define<readonly string[]>(days, [], 'Days without rows.'),
  retentionDays: number(0, 36_500, 0, 'Age in days beyond which by-date rows are missing; 0: none.'),
  beyondRetention: choice(
    ['empty', 400, 422],
    'A range beyond retentionDays: without those rows, or refused.',
  ),
  absentDates: choice(['last-7-days', 422], 'A report without dateFrom and dateTo.'),
  foreignAdvertiser: choice(
    [403, 404, 422, 'empty'],
    'A call for another account\'s advertiser; "empty": no rows.',
  ),
  unauthenticated: choice(
    ['auto', 'redirect', 'json', 'html'],
    'A call without a valid token. auto: 401 JSON with "accept: application/json", else 302 to /login; redirect: 302; json: 401 JSON; html: 401 HTML.',
  ),
  tokenPath: define<string>(
    text(/^(\/[A-Za-z0-9._~-]+)+$/, 'an absolute path such as /oauth/token'),
    '/oauth/token',
    'Path of the token request.',
  ),
  tokenAnswer: choice(
    ['access_token', 'token', 'no-expiry', 'nonsense'],
    'Token response: access_token and expires_in, "token", without expires_in, or without a token.',
  ),
  tokenTtlSeconds: number(1, 10 * 31_536_000, 31_536_000, 'Lifetime of new tokens.'),
  clientId: choice(['either', 'number', 'string'], 'Accepted JSON type of client_id.'),
  rateLimitPerMinute: number(
    0,
    1_000_000,
    60,
    'Calls per minute and token; 0: no limit and no x-ratelimit headers.',
  ),
  latencyMs: number(0, 600_000, 0, 'Delay of responses, real milliseconds.'),
  contentEncoding: choice(
    ['none', 'gzip', 'chain', 'bomb'],
    'gzip: if accepted; hostile: chain: gzip six times; bomb: expands to 256 MiB.',
  ),
  cacheControl: define<string>(headerText, 'no-cache, private', 'cache-control of responses.'),
  vary: define<string>(headerText, '', 'vary of responses.'),
} as const;

export type Switches = {
  readonly [Name in keyof typeof SWITCHES]: (typeof SWITCHES)[Name]['default'];
};

export const DEFAULT_SWITCHES: Switches = Object.freeze(
  Object.fromEntries(Object.entries(SWITCHES).map(([name, { default: initial }]) => [name, initial])),
) as unknown as Switches;

/** @throws InvalidInput naming each unknown switch or refused value */
export function patchSwitches(switches: Switches, patch: unknown): Switches {
  checkMembers(patch, SWITCHES);
  return Object.freeze({ ...switches, ...patch });
}
