/** What an assistant of a team is told by each tool, in either revision of the protocol, and what knowing the tools costs. */

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { toToolError } from '../../../src/api/mcp/call-tool.js';
import { INSTRUCTIONS, TOOLS } from '../../../src/api/mcp/tools.js';
import { type ErrorCode, GatewayError } from '../../../src/errors.js';
import { toProblem } from '../../../src/lib/http/problem.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { reportIn, type SimulatedGateway, startGateway, withGateway } from '../../support/start-gateway.js';
import { waitFor } from '../../support/wait-for.js';
import { agentOf, type Told } from './agent.js';

const SCOPES = ['report:read', 'mcp'];
const WEEK = { from: '2026-11-01', to: '2026-11-07' };
const BY_DATE = { advertiserId: 1, period: WEEK, split: ['date'] };
const BY_DATE_QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';

let gateway: SimulatedGateway;
let key: string;

beforeAll(async () => {
  gateway = await startGateway({ logLevel: 'info' });
  key = await gateway.addTeam({ id: 'agents', scopes: SCOPES, advertisers: [1, 2] });
});
afterAll(() => gateway.close());

/** Rows as HTTP gives them. */
function rowsOf({ body }: Told): Record<string, unknown>[] {
  const { columns = [], rows = [] } = body;
  return rows.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at]])));
}

describe.each(['legacy', 'modern'] as const)('an assistant by the %s revision', (era) => {
  it('is given the rows of HTTP as lists, and both copies are the same', async () => {
    const agent = await agentOf(gateway, key, era);
    const told = await agent.call('query_report', BY_DATE);
    expect(told.isError).toBe(false);
    expect(told.text).toBe(JSON.stringify(told.body));
    expect(Object.keys(told.body).slice(0, 3)).toEqual(['truncated', 'totalRows', 'next']);
    expect(told.body).toMatchObject({ truncated: false, totalRows: 7, next: null });
    const { data } = reportIn(await gateway.report(key, BY_DATE_QUERY));
    expect(rowsOf(told)).toEqual(data);
  });

  it('is told who it is, and of its own advertisers alone', async () => {
    const agent = await agentOf(gateway, key, era);
    const { body } = await agent.call('whoami');
    expect(body).toMatchObject({ team: { id: 'agents' }, scopes: SCOPES, credential: { state: 'ok' } });
    expect(rowsOf({ body } as Told).map(({ advertiserId }) => advertiserId)).toEqual([1, 2]);
  });

  it('is told of what is wrong with its arguments, with code, detail and help', async () => {
    const agent = await agentOf(gateway, key, era);
    const { isError, body } = await agent.call('query_report', {
      ...BY_DATE,
      advertiserId: 'x',
      perod: WEEK,
    });
    expect(isError).toBe(true);
    expect(Object.keys(body).slice(0, 3)).toEqual(['code', 'detail', 'help']);
    expect(body).toMatchObject({ code: 'invalid_query', status: 400 });
    const named = (body.errors as { param: string }[]).map(({ param }) => param);
    expect(named.sort()).toEqual(['advertiserId', 'perod']);
  });

  it('is told of them by the names that it gave them', async () => {
    const agent = await agentOf(gateway, key, era);
    const paramsOf = async (args: object) => {
      const { body } = await agent.call('query_report', { ...BY_DATE, ...args });
      return (body.errors as { param: string }[]).map(({ param }) => param);
    };
    expect(await paramsOf({ columns: ['spnt'] })).toEqual(['columns']);
    expect(await paramsOf({ asOf: 'then' })).toEqual(['asOf']);
    // What JSON does not hold exactly would be another account.
    expect(await paramsOf({ advertiserId: 2 ** 53 })).toEqual(['advertiserId']);
    expect(await paramsOf({ period: { relative: 'soon' } })).toEqual(['period.relative']);
    expect(await paramsOf({ period: { from: '2026-11-07', to: '2026-11-01' } })).toEqual(['period.to']);
  });

  it('is told what to do by the names that it would give', async () => {
    const agent = await agentOf(gateway, key, era);
    const wrongWith = async (args: object) => {
      const { body } = await agent.call('query_report', { advertiserId: 1, period: WEEK, ...args });
      return (body.errors as { message: string }[])[0]?.message;
    };
    expect(await wrongWith({ asOf: '2026-11-20', split: ['campaign'] })).toBe(
      'requires a report by date with a period: add "date" to split, period.from and period.to',
    );
    expect(await wrongWith({ final: 'only', split: ['campaign'] })).toBe(
      'set to only requires a report by date: add "date" to split, or use final "require"',
    );
  });

  it('is told which values there are', async () => {
    const agent = await agentOf(gateway, key, era);
    const { body } = await agent.call('query_report', { ...BY_DATE, sort: { column: 'date', order: 'up' } });
    expect(body.errors).toEqual([{ param: 'sort.order', message: 'must be one of asc, desc' }]);
  });

  it('is refused the advertiser of another team, and a tool that there is not', async () => {
    const agent = await agentOf(gateway, key, era);
    const { isError, body } = await agent.call('query_report', { ...BY_DATE, advertiserId: 3 });
    expect([isError, body.code]).toEqual([true, 'advertiser_forbidden']);
    await expect(agent.call('delete_campaign', {})).rejects.toThrow(/Unknown tool/);
  });
});

describe('a tool', () => {
  it('marks what does not add up, and has totals from the platform', async () => {
    const agent = await agentOf(gateway, key);
    const { body } = await agent.call('query_report', { ...BY_DATE, totals: true });
    const { meta } = reportIn(await gateway.report(key, `${BY_DATE_QUERY}&_totals=1`));
    expect(body.columnNotes).toEqual({ reach: 'does not add up' });
    expect(body.totals).toEqual(meta.totals);
    const summed = rowsOf({ body } as Told).reduce((sum, { reach }) => sum + Number(reach), 0);
    expect(summed).toBeGreaterThan(Number(meta.totals?.reach));
  });

  it('gives columns in the order asked for, sorted by one of them', async () => {
    const agent = await agentOf(gateway, key);
    const told = await agent.call('query_report', {
      ...BY_DATE,
      columns: ['spent', 'date'],
      sort: { column: 'spent', order: 'desc' },
    });
    expect(told.body.columns).toEqual(['spent', 'date']);
    const spent = rowsOf(told).map((row) => Number(row.spent));
    expect(spent).toEqual(spent.toSorted((a, b) => b - a));
    const wrong = await agent.call('query_report', { ...BY_DATE, sort: { column: 'nothing' } });
    expect(wrong.body).toMatchObject({ code: 'invalid_query', errors: [{ param: 'sort.column' }] });
  });

  it('describes columns that were seen, and which of them add up', async () => {
    const agent = await agentOf(gateway, key);
    await agent.call('query_report', BY_DATE);
    const rows = rowsOf(await agent.call('describe_reports'));
    const about = (name: string) => rows.find((row) => row.kind === 'column' && row.name === name)?.about;
    expect(['impressions', 'spent', 'reach', 'date'].map(about)).toEqual([
      'adds up',
      'adds up',
      'does not add up',
      'identifies the row',
    ]);
    expect(rows.filter(({ kind }) => kind === 'parameter').map(({ name }) => name)).toContain('campaignIds');
  });

  it('describes no report whose name is none', async () => {
    const agent = await agentOf(gateway, key);
    const { isError, body } = await agent.call('describe_reports', { endpoint: '../../admin' });
    expect([isError, body.code, body.errors]).toEqual([
      true,
      'invalid_query',
      [{ param: 'endpoint', message: 'must be the path of a report, e.g. campaigns/get' }],
    ]);
  });

  it('explains what an answer would cost without asking the platform', async () => {
    const agent = await agentOf(gateway, key);
    const before = gateway.simulator.callCount;
    const period = { from: '2026-09-01', to: '2026-09-03' };
    const told = await agent.call('explain_query', { ...BY_DATE, period });
    expect(told.body).toMatchObject({ price: { calls: 1, behind: 0 }, totalRows: 3 });
    expect(rowsOf(told).map(({ state }) => state)).toEqual(['missing', 'missing', 'missing']);
    expect(gateway.simulator.callCount).toBe(before);
  });

  it('tells when days are final, of an advertiser and of a report', async () => {
    const agent = await agentOf(gateway, key);
    expect((await agent.call('get_finality', { advertiserId: 1 })).body).toMatchObject({ mode: 'observe' });
    const told = await agent.call('get_finality', BY_DATE);
    expect(rowsOf(told)).toMatchObject([{ endpoint: 'campaigns/get', advertiserId: 1, windowDays: 5 }]);
  });

  it('says so where nothing was known of the days to compare', async () => {
    const agent = await agentOf(gateway, key);
    const { isError, body } = await agent.call('compare_as_of', { ...BY_DATE, advertiserId: 2 });
    expect([isError, body.code]).toEqual([true, 'not_known_then']);
  });

  it('is one request of its team, and is logged with the way it came', async () => {
    const own = await gateway.addTeam({ id: 'counted', scopes: SCOPES, advertisers: [1] });
    const agent = await agentOf(gateway, own);
    const before = Number(
      (await gateway.call('/gateway/v1/me', { key: own })).json<{ left: { requestsPerMinute: number } }>()
        .left.requestsPerMinute,
    );
    await agent.call('query_report', { ...BY_DATE, totals: true });
    const { left } = (await gateway.call('/gateway/v1/me', { key: own })).json<{
      left: { requestsPerMinute: number };
    }>();
    expect(before - left.requestsPerMinute).toBe(1);
    const line = gateway.log.findLast(({ team, via }) => team === 'counted' && via === 'mcp');
    expect(line).toMatchObject({ via: 'mcp', path: '/mcp/query_report', rows: 7, status: 200 });
  });

  it('is told of as it happens, with the way it came', async () => {
    const lines: object[] = [];
    const unwatch = gateway.services.tail.watch({ onLine: (line) => lines.push(line), onDropped() {} });
    onTestFinished(unwatch);
    await waitFor('somebody who looks', () => gateway.services.tail.isOn);
    const agent = await agentOf(gateway, key);
    await agent.call('get_usage');
    await waitFor('the line', () => lines.length >= 2);
    expect(lines).toContainEqual(expect.objectContaining({ path: '/mcp/get_usage', via: 'mcp' }));
  });

  it('tells whoever asks too often so as an error of the tool', async () => {
    const limits = { requestsPerMinute: 3, maxConcurrent: 100 };
    const own = await gateway.addTeam({ id: 'hasty', scopes: SCOPES, advertisers: [1], limits });
    const agent = await agentOf(gateway, own);
    const answers = [];
    for (let at = 0; at < 4; at += 1) answers.push(await agent.call('get_usage'));
    expect(answers.at(-1)).toMatchObject({ isError: true, body: { code: 'rate_limited' } });
    expect(answers.at(-1)?.body.retryAfterSeconds).toBeGreaterThan(0);
    expect(answers.at(-1)?.body.help).toMatch(/^Wait for \d+ s, then repeat\.$/);
    await expect(agent.client.listTools()).rejects.toThrow(/429|rate/i);
  });
});

it('a team is told who it is, and what it was granted, while the store is away', async () => {
  const held = await withGateway({
    wrapStore: (store) => ({
      ...store,
      documents: { ...store.documents, get: () => Promise.reject(new StoreUnavailable('away')) },
    }),
  });
  const agent = await agentOf(held, await held.addTeam({ scopes: SCOPES, advertisers: [1, 2] }));
  const told = await agent.call('whoami');
  expect(told.isError).toBe(false);
  expect(told.body).toMatchObject({ team: { id: 'team-1' }, scopes: SCOPES });
  expect(rowsOf(told)).toEqual(
    [1, 2].map((advertiserId) => ({ advertiserId, name: null, lastSeenAt: null })),
  );
});

/**
 * On the safe side: of this list the encodings o200k, cl100k and p50k of `gpt-tokenizer` 4 and `@anthropic-ai/tokenizer` 0.0.4
 * take 3.7 to 4.2 bytes for a token.
 */
const BYTES_OF_A_TOKEN = 3;

describe('the list of tools', () => {
  it('costs less than 2,500 tokens', () => {
    const tokens = Buffer.byteLength(JSON.stringify({ tools: TOOLS })) / BYTES_OF_A_TOKEN;
    expect(tokens).toBeLessThan(2500);
    expect(Buffer.byteLength(INSTRUCTIONS) / BYTES_OF_A_TOKEN).toBeLessThan(250);
  });

  it('is the one that was agreed upon', async () => {
    await expect(`${JSON.stringify({ tools: TOOLS }, null, 2)}\n`).toMatchFileSnapshot('tools-list.golden');
  });

  it('takes no argument that it does not name, at any depth', () => {
    const open: string[] = [];
    const look = (schema: unknown, place: string): void => {
      if (typeof schema !== 'object' || schema === null) return;
      const { type, additionalProperties } = schema as Record<string, unknown>;
      if (type === 'object' && additionalProperties !== false) open.push(place);
      for (const [name, value] of Object.entries(schema)) look(value, `${place}.${name}`);
    };
    for (const { name, inputSchema } of TOOLS) look(inputSchema, name);
    expect(open).toEqual([]);
    expect(TOOLS.every(({ annotations }) => annotations.readOnlyHint)).toBe(true);
  });
});

/** Of the errors that a tool can give. */
const CODES: readonly ErrorCode[] = [
  ...(['invalid_query', 'invalid_api_key', 'expired_api_key', 'revoked_api_key', 'scope_missing'] as const),
  ...(['advertiser_forbidden', 'advertiser_required', 'ip_forbidden', 'team_disabled'] as const),
  ...([
    'not_known_then',
    'cursor_expired',
    'cursor_too_old',
    'not_final',
    'rate_limited',
    'internal_error',
  ] as const),
  ...(['upstream_budget_exhausted', 'upstream_rejected', 'upstream_error', 'upstream_timeout'] as const),
  ...(['upstream_invalid_response', 'upstream_too_large', 'upstream_rate_limited'] as const),
  ...(['upstream_circuit_open', 'credential_unavailable', 'overloaded', 'not_ready'] as const),
];
const OF_HTTP = /retry-after|x-api-key|authorization|GET \/|(?<!\w)_[a-z]|dateFrom|dateTo|byDate|byCampaign/i;

const toldOf = (error: GatewayError) => toProblem(toToolError(error), 'r');

describe('an error of a tool', () => {
  it.each(CODES)('%s speaks of no header and no parameter of HTTP', (code) => {
    const { detail, help, status } = toldOf(new GatewayError(code, { retryAfterS: 3 }));
    expect(`${detail} ${help}`).not.toMatch(OF_HTTP);
    expect(status).toBe(new GatewayError(code).status);
  });

  it('names the arguments of tools in its detail and its help, as in its faults', () => {
    const error = new GatewayError('not_known_then', {
      detail: 'Without _asOf=2026-11-01 the days from dateFrom on are known.',
      help: 'Give _period=last_7_days, or wait as retry-after says; GET /gateway/v1/me lists advertisers.',
      errors: [{ param: '_fields', message: 'goes with byDate=1' }],
    });
    expect(toldOf(error)).toMatchObject({
      detail: 'Without asOf "2026-11-01" the days from period.from on are known.',
      help: 'Give period.relative "last_7_days", or wait as retryAfterSeconds says; the tool whoami lists advertisers.',
      errors: [{ param: 'columns', message: 'goes with "date" to split' }],
    });
  });

  it('keeps the status of the platform where that is told', () => {
    expect(toldOf(new GatewayError('upstream_rejected', { status: 404, errors: [] })).status).toBe(404);
  });
});
