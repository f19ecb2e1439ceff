import { calendarDay, checkMembers, oneOf, type Rule, text, whole } from './invalid-input.js';

/** Everything the platform's document leaves "not shown". {@link SWITCHES} says what each one does. */
export interface Switches {
  readonly shape: 'data' | 'array' | 'nested' | 'totals' | 'paged' | 'object';
  readonly decimals: 'strings' | 'numbers';
  readonly ids: 'numbers' | 'strings';
  readonly names: 'snake' | 'camel';
  readonly dates: 'date' | 'datetime' | 'iso';
  readonly rowsAccount: boolean;
  readonly accountNames: 'none' | 'plain' | 'hostile';
  readonly rowOrder: 'date' | 'date-descending' | 'campaign';
  readonly foreignRows: boolean;
  readonly rowCap: number;
  readonly hugeNumbers: boolean;
  readonly echoToken: boolean;
  readonly restateDays: number;
  readonly completion: 'linear' | 'curves';
  readonly lateRows: number;
  readonly vanishingDays: readonly string[];
  readonly columnFrom: string;
  readonly renameFrom: string;
  readonly timezone: string;
  readonly divisible: boolean;
  readonly emptyDays: readonly string[];
  readonly retentionDays: number;
  readonly beyondRetention: 'empty' | 400 | 422;
  readonly absentDates: 'last-7-days' | 422;
  readonly foreignAdvertiser: 403 | 404 | 422 | 'empty';
  readonly unauthenticated: 'auto' | 'redirect' | 'json' | 'html';
  readonly tokenPath: string;
  readonly tokenAnswer: 'access_token' | 'token' | 'no-expiry' | 'nonsense';
  readonly tokenTtlSeconds: number;
  readonly clientId: 'either' | 'number' | 'string';
  readonly rateLimitPerMinute: number;
  readonly latencyMs: number;
  readonly contentEncoding: 'none' | 'gzip' | 'chain' | 'bomb';
  readonly cacheControl: string;
  readonly vary: string;
}

interface SwitchDefinition<T> extends Rule {
  readonly default: T;
  readonly about: string;
}

const define = <T>(rule: Rule, initial: NoInfer<T>, about: string): SwitchDefinition<T> => ({
  ...rule,
  default: initial,
  about,
});
const choice = <const T>(values: readonly T[], initial: NoInfer<T>, about: string) =>
  define<T>(oneOf(values), initial, about);
const flag = (initial: boolean, about: string) => define<boolean>(oneOf([true, false]), initial, about);
const number = (least: number, most: number, initial: number, about: string) =>
  define<number>(whole(least, most), initial, about);
const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/;
const headerText = text(
  /^[\x20-\x7e]{0,200}$/,
  'at most 200 printable ASCII characters; empty sends no header',
);

const timeZone: Rule = {
  allowed: 'an IANA time zone such as "UTC" or "America/New_York"',
  accepts(value) {
    try {
      return typeof value === 'string' && new Intl.DateTimeFormat('en', { timeZone: value }) !== null;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
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

/** Each switch: what it does, what it may be, and the likely answer of the real platform as its default. */
export const SWITCHES: { readonly [Name in keyof Switches]: SwitchDefinition<Switches[Name]> } = {
  shape: choice(
    ['data', 'array', 'nested', 'totals', 'paged', 'object'],
    'data',
    'Container of the rows: {"data":[…]}, a bare array, {"status","result":{"rows"}}, data beside a totals object, data with links and meta (page, per_page), or the unsplit report as one bare object.',
  ),
  decimals: choice(['strings', 'numbers'], 'strings', 'Spend as "12.3400" or as 12.34.'),
  ids: choice(['numbers', 'strings'], 'numbers', 'Ids as 7 or as "7".'),
  names: choice(['snake', 'camel'], 'snake', 'Member names: campaign_id or campaignId.'),
  dates: choice(
    ['date', 'datetime', 'iso'],
    'date',
    'Dates as 2026-11-01, "2026-11-01 00:00:00", or 2026-11-01T00:00:00.000000Z.',
  ),
  rowsAccount: flag(true, 'Rows carry advertiser_id.'),
  accountNames: choice(
    ['none', 'plain', 'hostile'],
    'none',
    'Rows of campaign reports carry advertiser_name; hostile = names with markup, formulas, reversed writing and 200 characters.',
  ),
  rowOrder: choice(['date', 'date-descending', 'campaign'], 'date', 'Order of the rows of a report by date.'),
  foreignRows: flag(false, 'Hostile: the second row of a report belongs to another advertiser.'),
  rowCap: number(0, 1_000_000, 0, 'Rows beyond this many are silently cut; 0 cuts none.'),
  hugeNumbers: flag(
    false,
    'JSON rows carry numbers that JavaScript cannot hold: 9007199254740993, 1e400, 0.1234567890123456789.',
  ),
  echoToken: flag(
    false,
    "Hostile: answers show the caller's token in a header, in rows and in error bodies.",
  ),
  restateDays: number(
    0,
    60,
    5,
    'Days before today whose numbers are still being completed, a little more each day.',
  ),
  completion: choice(
    ['linear', 'curves'],
    'linear',
    "How a day's numbers are completed: linear = over restateDays; curves = by its advertiser's own curve, seven of ten by day 3, one each by day 7, 14 and 28, at the end by a small step every few days (restateDays counts for nothing then).",
  ),
  lateRows: number(
    0,
    100,
    0,
    "Percentage of a campaign's days that have no row at first: it appears one to six days after its day.",
  ),
  vanishingDays: define<readonly string[]>(
    days,
    [],
    'Days whose rows are gone while the day is two days old, and come back the day after.',
  ),
  columnFrom: define<string>(
    instantOrNone,
    '',
    'From this instant on all rows of campaign reports carry viewable_impressions; empty = never.',
  ),
  renameFrom: define<string>(
    instantOrNone,
    '',
    "From this instant on each advertiser's first campaign has another name in reports, in old days too; empty = never.",
  ),
  timezone: define<string>(timeZone, 'UTC', "Where the platform's day begins."),
  divisible: flag(
    true,
    "false: a by-date row's numbers depend on both ends of the asked period, as under attribution.",
  ),
  emptyDays: define<readonly string[]>(days, [], 'Days that are answered without rows, as after an outage.'),
  retentionDays: number(
    0,
    36_500,
    0,
    'Days that are older are forgotten; 0 forgets none. Only reports by date are told apart by day.',
  ),
  beyondRetention: choice(
    ['empty', 400, 422],
    'empty',
    'A range that reaches beyond retentionDays: answered without the rows of forgotten days, or refused.',
  ),
  absentDates: choice(['last-7-days', 422], 'last-7-days', 'A report without dateFrom and dateTo.'),
  foreignAdvertiser: choice(
    [403, 404, 422, 'empty'],
    403,
    'A call for an advertiser that is not under the account; "empty" answers without rows.',
  ),
  unauthenticated: choice(
    ['auto', 'redirect', 'json', 'html'],
    'auto',
    'A call without a valid token: auto = 401 JSON with "accept: application/json", else 302 to /login; redirect = always 302; json = always 401 JSON; html = always 401 HTML.',
  ),
  tokenPath: define<string>(
    text(/^(\/[A-Za-z0-9._~-]+)+$/, 'an absolute path such as /oauth/token'),
    '/oauth/token',
    'Path of the token request.',
  ),
  tokenAnswer: choice(
    ['access_token', 'token', 'no-expiry', 'nonsense'],
    'access_token',
    'Answer of the token request: with access_token and expires_in, the token as "token", without expires_in, or without any token.',
  ),
  tokenTtlSeconds: number(1, 10 * 31_536_000, 31_536_000, 'Lifetime of the tokens issued from now on.'),
  clientId: choice(['either', 'number', 'string'], 'either', 'Accepted JSON type of client_id.'),
  rateLimitPerMinute: number(
    0,
    1_000_000,
    60,
    'Calls per minute and token; 0 = no limit, no x-ratelimit headers.',
  ),
  latencyMs: number(0, 600_000, 0, 'Pause before every platform answer, in real milliseconds.'),
  contentEncoding: choice(
    ['none', 'gzip', 'chain', 'bomb'],
    'none',
    'gzip = when the caller accepts it; hostile: chain = gzip six times over; bomb = a small gzip body that unpacks to 256 MiB.',
  ),
  cacheControl: define<string>(headerText, 'no-cache, private', 'The cache-control header of every answer.'),
  vary: define<string>(headerText, '', 'The vary header of every answer.'),
};

export const DEFAULT_SWITCHES: Switches = Object.freeze(
  Object.fromEntries(Object.entries(SWITCHES).map(([name, { default: initial }]) => [name, initial])),
) as unknown as Switches;

/**
 * @returns the switches with `patch` laid over them
 * @throws InvalidInput naming each unknown switch or refused value; nothing is changed then
 */
export function patchSwitches(switches: Switches, patch: unknown): Switches {
  checkMembers(patch, SWITCHES);
  return Object.freeze({ ...switches, ...patch });
}
