/** The admin plane takes a request in one way, or says which part of it can be taken in two. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../../src/errors.js';
import { ADMIN_TOKEN, type TestGateway, withGateway } from '../../support/start-gateway.js';

async function send(
  gateway: TestGateway,
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  payload?: string | Buffer,
) {
  const response = await gateway.admin.inject({
    method,
    url: `/admin/v1${path}`,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(payload === undefined ? {} : { payload }),
  });
  return { status: response.statusCode, problem: response.json<Problem>() };
}

describe('a body', () => {
  it.each<['POST' | 'PATCH', string, string, string]>([
    ['POST', '/teams', '{"id":"a","advertisers":[1],"advertisers":"*"}', 'advertisers'],
    ['POST', '/teams', '{"id":"a","advertisers":[1],"\\u0061dvertisers":"*"}', 'advertisers'],
    ['PATCH', '/teams/known', '{"limits":{"maxConcurrent":1,"maxConcurrent":32}}', 'limits.maxConcurrent'],
    ['POST', '/teams/apply', '{"teams":[{"id":"a"},{"id":"b","id":"c"}]}', 'teams.1.id'],
    ['POST', '/teams/known/keys', '{"expiresAt":"2030-01-01","expiresAt":null}', 'expiresAt'],
    ['POST', '/cache/purge', '{"all":true,"all":true}', 'all'],
    ['POST', '/token/stage', '{"token":"one","token":"two"}', 'token'],
    ['POST', '/registry/import', '{"replace":false,"replace":true}', 'replace'],
  ])(
    'of %s %s that has a member twice changes nothing, and the member is named',
    async (method, path, body, param) => {
      const gateway = await withGateway();
      await gateway.addTeam({ id: 'known', advertisers: [1] });
      const audited = () => gateway.manage('GET', '/audit?limit=1');
      const before = await audited();
      const { status, problem } = await send(gateway, method, path, body);
      expect({ status, code: problem.code, errors: problem.errors }).toEqual({
        status: 422,
        code: 'invalid_body',
        errors: [{ param, message: expect.stringContaining('twice') }],
      });
      expect(await audited()).toEqual(before);
    },
  );

  it('that is no UTF-8 is refused, and is not altered', async () => {
    const gateway = await withGateway();
    const bytes = Buffer.concat([Buffer.from('{"id":"a","name":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    const { status, problem } = await send(gateway, 'POST', '/teams', bytes);
    expect([status, problem.code, problem.detail]).toEqual([422, 'invalid_body', 'The body is not UTF-8.']);
    expect(gateway.services.directory.team('a')).toBeUndefined();
  });

  it('that is no JSON is refused, and one that is empty is one without members', async () => {
    const gateway = await withGateway();
    expect((await send(gateway, 'POST', '/teams', '{"id":')).problem).toMatchObject({ code: 'invalid_body' });
    expect((await send(gateway, 'POST', '/teams', '')).problem.errors?.[0]?.param).toBe('id');
  });
});

describe('a query', () => {
  it.each([
    ['/audit?before=nope', 'before'],
    ['/audit?before=', 'before'],
    ['/audit?before=1&before=2', 'before'],
    ['/audit?before=1%0a', 'before'],
    ['/audit?limit=0', 'limit'],
    ['/audit?since=2026-02-30', 'since'],
    ['/audit?since=2026-02-30T10:00:00Z', 'since'],
    ['/audit?since=2026-02-01&since=2026-02-02', 'since'],
    ['/usage?team=No%20Team', 'team'],
    ['/usage?from=nope', 'from'],
    ['/series', 'range'],
    ['/tail?team=No%20Team', 'team'],
    ['/tail?outcome=luck', 'outcome'],
    ['/tail?seconds=3601', 'seconds'],
    ['/series?range=1h&range=1h', 'range'],
    ['/series?range=1h&team=No%20Team', 'team'],
    ['/series/teams?range=1d', 'range'],
  ])('%s is refused by the name of its parameter', async (path, param) => {
    const gateway = await withGateway();
    const { status, problem } = await send(gateway, 'GET', path);
    expect([status, problem.code]).toEqual([400, 'invalid_query']);
    expect(problem.errors?.map((one) => one.param)).toEqual([param]);
  });

  it('for the audit goes on from every id that it gave', async () => {
    const gateway = await withGateway();
    for (const id of ['a', 'b', 'c']) await gateway.addTeam({ id });
    const { entries } = (await gateway.manage('GET', '/audit?limit=3')) as {
      entries: { id: string }[];
    } & Record<string, unknown>;
    const next = (await gateway.manage('GET', `/audit?limit=1&before=${entries[0]?.id}`)) as {
      entries: unknown[];
    } & Record<string, unknown>;
    expect(next.entries).toEqual([entries[1]]);
  });
});

describe('a key that has expired', () => {
  it('cannot be rolled: the new secret would be dead, too', async () => {
    const gateway = await withGateway();
    await gateway.addTeam({ id: 'a' });
    const expiresAt = new Date(gateway.clock.now() + 60_000).toISOString();
    const { id } = await gateway.manage('POST', '/teams/a/keys', { expiresAt });
    gateway.clock.advance(60_000);
    const { status, problem } = await send(gateway, 'POST', `/keys/${id}/roll`, '{}');
    expect([status, problem.code]).toEqual([409, 'conflict']);
    expect(problem.detail).toContain('expired');
  });
});
