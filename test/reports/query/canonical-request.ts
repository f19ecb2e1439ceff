/** Short ways to canonicalise a request and to see what came of it. */
import { GatewayError } from '../../../src/errors.js';
import { canonicalize, type ParsedReport, type ParseRules } from '../../../src/reports/query/canonicalize.js';
import { dayNumber, startOfDay } from '../../../src/reports/query/days.js';
import { parameterTable } from '../../../src/reports/query/parameters.js';
import { buildPlatformCall, seriesId } from '../../../src/reports/query/platform-call.js';
import { type JsonObject, parseJson } from '../../../src/reports/rows/json.js';
import { TODAY } from '../rows/question-model.js';

const ACCOUNT_FIELDS = ['advertiserId', 'userId'];
export const RULES: ParseRules = {
  table: parameterTable(ACCOUNT_FIELDS),
  endpoints: new Map([['campaigns/get', { knownParameters: [], unknownParameters: 'pass' }]]),
  accountFields: ACCOUNT_FIELDS,
  accountPattern: /^(user|account|advertiser|client|customer|agency|owner|parent)ids?$/,
  todayOf: () => dayNumber(TODAY) as number,
  startOfDayOf: (_account, day) => startOfDay(day, 'UTC'),
};

export const get = (query: string): ParsedReport =>
  canonicalize({ endpoint: 'campaigns/get', method: 'GET', query, body: null }, RULES);

export const post = (body: string, query = ''): ParsedReport =>
  canonicalize(
    { endpoint: 'campaigns/get', method: 'POST', query, body: parseJson(body) as JsonObject },
    RULES,
  );

/** The names at fault; null when there is no fault. */
export function faults(read: () => unknown): string[] | null {
  try {
    read();
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'invalid_query') throw error;
    return (error.options.errors ?? []).map(({ param }) => param);
  }
}

/** What the cache knows a request by, with the form of its answer. */
export function identity({ report, options }: ParsedReport): string {
  return JSON.stringify([
    seriesId(report, 'default', 'https://platform.example/'),
    report.from,
    report.to,
    options.format,
    options.totals,
    options.days,
    options.bom,
  ]);
}

export const target = (request: ParsedReport): string =>
  buildPlatformCall(request.report, request.report.from, request.report.to).target;
export const sentBody = (request: ParsedReport): string | null =>
  buildPlatformCall(request.report, request.report.from, request.report.to).body;
