import { describe, expect, it } from 'vitest';
import { type AskCall, ask, readParameters } from '../../src/api/data/ask.js';
import { GatewayError } from '../../src/errors.js';
import { Trace } from '../../src/telemetry/trace.js';
import { withTeam } from '../support/start-gateway.js';

const INNER = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const about = (inner: string) => `endpoint=campaigns/get&query=${encodeURIComponent(inner)}`;

async function asking(team: Readonly<Record<string, unknown>> = {}) {
  const { gateway, key } = await withTeam({}, team);
  const call = (query: string, more: Partial<AskCall> = {}): AskCall => ({
    id: 'r',
    query,
    keys: { authorization: [], apiKey: [key] },
    address: '10.0.0.1',
    accept: undefined,
    ifNoneMatch: undefined,
    trace: new Trace(),
    onResponseClosed: () => {},
    ...more,
  });
  return { g: gateway.services.reporting.reports, call };
}

async function refusal(work: Promise<unknown>): Promise<GatewayError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(GatewayError);
  return error as GatewayError;
}

describe('a call about a report', () => {
  it('is the question that the report itself would be', async () => {
    const { g, call } = await asking();
    const asked = await ask(g, call(`${about(INNER)}&from=first`), ['from', 'to']);
    expect(asked.question.report).toMatchObject({ endpoint: 'campaigns/get', account: '1' });
    expect(asked.question.report.from).toBe('2026-11-01');
    expect([...asked.given.keys()]).toEqual(['endpoint', 'query', 'from']);
  });

  it.each([
    ['', ['endpoint', 'query']],
    ['endpoint=../x&query=a%3D1', ['endpoint']],
    [`endpoint=campaigns/get&endpoint=x&query=${encodeURIComponent(INNER)}`, ['endpoint']],
    [`endpoint=campaigns/get&query=${INNER}`, ['byDate', 'dateFrom', 'dateTo']],
    [about('advertiserId=1&dateFrom=2026-13-01&dateTo=1'), ['query.dateFrom', 'query.dateTo']],
    [about('advertiserId=1&dateFrom=2016-01-01&dateTo=2026-01-01'), ['query.dateTo']],
    [about('advertiserId=1&_totals=2'), ['query._totals']],
  ])('%s is refused by the name of the parameter', async (query, params) => {
    const { g, call } = await asking();
    const { code, options } = await refusal(ask(g, call(query)));
    expect(code).toBe('invalid_query');
    expect(options.errors?.map(({ param }) => param)).toEqual(params);
  });

  it('is refused to who may not ask, before its query is read', async () => {
    const { g, call } = await asking({ scopes: ['platform:read'] });
    const nobody = call('', { keys: { authorization: [], apiKey: [] } });
    expect((await refusal(ask(g, nobody))).code).toBe('missing_api_key');
    expect((await refusal(ask(g, call('')))).code).toBe('scope_missing');
  });

  it('is refused for another advertiser, and charged as a report', async () => {
    const { g, call } = await asking({ advertisers: [1], limits: { requestsPerMinute: 2 } });
    const foreign = about(INNER.replace('advertiserId=1', 'advertiserId=2'));
    expect((await refusal(ask(g, call(foreign)))).code).toBe('advertiser_forbidden');
    expect((await ask(g, call(about(INNER)))).caller.team.advertisers).toEqual([1]);
    expect((await refusal(ask(g, call(about(INNER))))).code).toBe('rate_limited');
  });
});

it('takes each of its parameters once, and no other', () => {
  expect([...readParameters('limit=1&after=', ['limit', 'after'])]).toEqual([
    ['limit', '1'],
    ['after', ''],
  ]);
  expect(() => readParameters('limit=1&limit=2', ['limit'])).toThrow(GatewayError);
  expect(() => readParameters('offset=1', ['limit'])).toThrow(GatewayError);
});
