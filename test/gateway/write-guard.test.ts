/** A team's write guard, from the admin API to the platform: what passes, what is refused, what is only looked at. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Problem } from '../../src/lib/http/problem.js';
import { CAMPAIGN, RULE as STRICT } from '../support/campaign.js';
import {
  type Call,
  outcomeOf,
  type Reply,
  type SimulatedGateway,
  startGateway,
  withGateway,
} from '../support/start-gateway.js';

const CREATE = 'POST /api/v1/campaign/create';
const PATH = '/api/v1/campaign/create';
const { budget } = STRICT;
const RULE = { budget: { ...budget, maxPerDay: 2500 }, amounts: [{ field: 'body.bid', max: 5 }] };
let gateway: SimulatedGateway;
let teams = 0;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());
beforeEach(() => gateway.simulator.clearCalls());

/** Keys of teams of their own, so that each has a whole day's budget. */
async function guarded(rule: object = RULE, more: object = {}): Promise<{ id: string; key: string }> {
  teams += 1;
  const id = `guarded-${teams}`;
  return {
    id,
    key: await gateway.addTeam({ id, advertisers: '*', writeGuard: { [CREATE]: rule }, ...more }),
  };
}
/** @param json null: what `more` says alone */
const create = (
  key: string,
  json: unknown = CAMPAIGN,
  more: Partial<Call> & { query?: string } = {},
): Promise<Reply> => {
  const { query = '', ...call } = more;
  return gateway.call(`${PATH}${query}`, {
    method: 'POST',
    key,
    ...(json === null ? {} : { json }),
    ...call,
  });
};
const problem = (reply: Reply) => reply.json<Problem>();
const sent = () => gateway.simulator.calls.filter(({ path }) => path.startsWith('/api/v1/'));
const total = (amount: number) => ({ ...CAMPAIGN, budget: { daily: 10, total: amount } });

describe('a guarded write', () => {
  it('is refused by name of the rule, with value and limit, and nothing is sent', async () => {
    const { key } = await guarded();
    const answer = await create(key, { ...total(1000.01), bid: 6 });
    expect(outcomeOf(answer)).toBe('422 write_guard_refused');
    expect(problem(answer)).toMatchObject({
      detail:
        'The rule budget.maxPerCall refuses this write: body.budget.total is 1000.01 EUR; allowed is at most 1000 EUR. Nothing was sent.',
      errors: [
        {
          param: 'budget.maxPerCall',
          message: 'body.budget.total is 1000.01 EUR; allowed is at most 1000 EUR',
        },
        { param: 'amounts.0.max', message: 'body.bid is 6; allowed is at most 5' },
      ],
    });
    expect(sent()).toEqual([]);
  });

  it('to a route that is not listed is refused, by any method, while reads pass', async () => {
    const { key } = await guarded();
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      const answer = await gateway.call('/api/v1/campaign/7', {
        method,
        key,
        ...(method === 'DELETE' ? {} : { json: {} }),
      });
      expect(problem(answer).errors).toEqual([
        { param: 'route', message: `${method} /api/v1/campaign/7; allowed is ${CREATE}` },
      ]);
    }
    const report = await gateway.call('/api/v1/report/other/get', { method: 'POST', key, json: {} });
    expect(outcomeOf(report)).toBe('422 write_guard_refused');
    expect(sent()).toEqual([]);
    expect((await gateway.call('/api/v1/campaign/999', { key })).status).toBe(404);
    expect(
      (await gateway.call('/api/v1/campaign/get', { method: 'POST', key, json: { userId: 1 } })).status,
    ).toBe(200);
  });

  it('needs an idempotency key where its rule says so', async () => {
    const { key } = await guarded({ ...RULE, requireIdempotencyKey: true });
    expect(problem(await create(key)).errors?.[0]?.param).toBe('requireIdempotencyKey');
    expect((await create(key, CAMPAIGN, { headers: { 'idempotency-key': 'a' } })).status).toBe(201);
  });

  it('of a limited team is held to its advertisers, too', async () => {
    const { key } = await guarded(RULE, { advertisers: [1] });
    expect((await create(key)).status).toBe(201);
    expect(outcomeOf(await create(key, { ...CAMPAIGN, userId: 2 }))).toBe('403 advertiser_forbidden');
    expect(
      outcomeOf(await create(key, null, { body: '{', headers: { 'content-type': 'application/json' } })),
    ).toBe('422 write_guard_refused');
  });
});

describe('the budget of a day', () => {
  it('is used up by what was sent, and says what is left', async () => {
    const { key } = await guarded();
    expect([(await create(key)).status, (await create(key)).status]).toEqual([201, 201]);
    const answer = await create(key);
    expect(problem(answer).errors).toEqual([
      {
        param: 'budget.maxPerDay',
        message: '900 EUR; allowed is at most 2500 EUR a day, 700 EUR left on 2026-11-21',
      },
    ]);
    expect(sent()).toHaveLength(2);
    expect((await create(key, total(700))).status).toBe(201);
  });

  it('is not touched by what is refused, here or by the platform, and not by a repeat with the same key', async () => {
    const { key, id } = await guarded();
    const left = async () => (await gateway.services.reservations.left(id, CREATE, 2_500_000_000)).left / 1e6;
    await create(key, total(5000));
    expect((await create(key, { ...CAMPAIGN, country: 7 })).status).toBe(422);
    expect(sent()).toHaveLength(1);
    expect(await left()).toBe(2500);
    const headers = { 'idempotency-key': 'once' };
    const twice = [await create(key, CAMPAIGN, { headers }), await create(key, CAMPAIGN, { headers })];
    expect(twice.map(({ headers }) => headers['idempotency-replayed'])).toEqual([undefined, 'true']);
    expect(await left()).toBe(1600);
  });

  it('keeps what nobody knows the outcome of', async () => {
    const { key, id } = await guarded();
    const left = async () => (await gateway.services.reservations.left(id, CREATE, 2_500_000_000)).left / 1e6;
    gateway.simulator.fault({ kind: 'status', status: 500 });
    expect((await create(key)).status).toBe(502);
    gateway.simulator.fault({ kind: 'reset' });
    expect((await create(key)).status).toBe(502);
    expect(await left()).toBe(700);
  });
});

describe('a dry run', () => {
  it('says what would happen, sends nothing and reserves nothing', async () => {
    const { key, id } = await guarded();
    const answer = await create(key, CAMPAIGN, { query: '?_dryRun=1' });
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('private, no-store');
    expect(answer.json()).toEqual({
      dryRun: true,
      wouldBeSent: true,
      method: 'POST',
      path: PATH,
      query: '',
      body: CAMPAIGN,
      checks: expect.arrayContaining([
        {
          rule: 'budget.maxPerCall',
          passed: true,
          value: 'body.budget.total is 900 EUR',
          limit: 'at most 1000 EUR',
        },
        {
          rule: 'budget.maxPerDay',
          passed: true,
          value: '900 EUR',
          limit: 'at most 2500 EUR a day, 2500 EUR left on 2026-11-21',
        },
      ]),
      left: { day: '2026-11-21', amount: 2500, max: 2500, currency: 'EUR' },
      checksum: expect.stringMatching(/^sha256:[\w-]{43}$/),
      platformAsked: false,
      note: expect.stringContaining('The platform may still refuse'),
    });
    expect(sent()).toEqual([]);
    expect((await gateway.services.reservations.left(id, CREATE, 1)).left).toBe(1);
  });

  it('names what would be refused, body and all, and writes the body in one form', async () => {
    const { key } = await guarded();
    const answer = await create(key, null, {
      body: '{ "budget": {"total": 1e4, "daily": 1.10}, "bid": 123456789012345678901234567890 }',
      headers: { 'content-type': 'application/json' },
      query: '?_dryRun=1',
    });
    expect(answer.text).toContain(
      '"body":{"bid":123456789012345678901234567890,"budget":{"daily":1.10,"total":1e4}}',
    );
    const { wouldBeSent, checks } = answer.json<{
      wouldBeSent: boolean;
      checks: { rule: string; passed: boolean }[];
    }>();
    expect(wouldBeSent).toBe(false);
    expect(checks.filter(({ passed }) => !passed).map(({ rule }) => rule)).toEqual([
      'budget.currency',
      'budget.maxPerCall',
      'amounts.0.max',
      'budget.maxPerDay',
    ]);
    const broken = await create(key, null, {
      body: '{',
      headers: { 'content-type': 'application/json' },
      query: '?_dryRun=1',
    });
    expect(broken.json()).toMatchObject({ body: null, wouldBeSent: false });
  });

  it('works for a team without a guard, and for any body', async () => {
    const key = await gateway.addTeam();
    expect((await create(key, { any: 1 }, { query: '?a=1&_dryRun=1' })).json()).toMatchObject({
      wouldBeSent: true,
      query: 'a=1',
      left: null,
      body: { any: 1 },
    });
    const form = await create(key, null, {
      body: 'a=1',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      query: '?_dryRun=1',
    });
    expect(form.json()).toMatchObject({ wouldBeSent: true, body: null });
    expect(
      (await gateway.call('/api/v1/campaign/7?_dryRun=1', { method: 'DELETE', key })).json(),
    ).toMatchObject({ method: 'DELETE' });
    expect(sent()).toEqual([]);
  });

  it.each(['_dryRun=0', '_dryRun=1&_dryRun=1', '_dryrun=1'])('is not what ?%s says: 400', async (query) => {
    const key = await gateway.addTeam();
    expect(outcomeOf(await create(key, CAMPAIGN, { query: `?${query}` }))).toBe('400 invalid_query');
    expect(sent()).toEqual([]);
  });

  it('is of no use for a read: 400', async () => {
    const key = await gateway.addTeam();
    expect(outcomeOf(await gateway.call('/api/v1/campaign/7?_dryRun=1', { key }))).toBe('400 invalid_query');
    const read = await gateway.call('/api/v1/campaign/get?_dryRun=1', {
      method: 'POST',
      key,
      json: { userId: 1 },
    });
    expect(outcomeOf(read)).toBe('400 invalid_query');
    const headers = { 'x-write-checksum': 'x' };
    expect(outcomeOf(await gateway.call('/api/v1/campaign/7', { key, headers }))).toBe('400 invalid_request');
  });
});

describe('a checksum', () => {
  it.each([true, false])(
    'lets the very request pass that was looked at, and no other (guarded: %s)',
    async (isGuarded) => {
      const key = isGuarded ? (await guarded()).key : await gateway.addTeam();
      const { checksum } = (await create(key, CAMPAIGN, { query: '?_dryRun=1' })).json<{
        checksum: string;
      }>();
      const headers = { 'x-write-checksum': checksum };
      const other = await create(key, total(901), { headers });
      expect(problem(other).errors).toEqual([
        { param: 'checksum', message: expect.stringMatching(`^sha256:[\\w-]{43}; allowed is ${checksum}$`) },
      ]);
      expect(
        outcomeOf(await create(key, CAMPAIGN, { headers: { 'x-write-checksum': `${checksum}x` } })),
      ).toBe('422 write_guard_refused');
      expect(sent()).toEqual([]);
      expect((await create(key, CAMPAIGN, { headers })).status).toBe(201);
    },
  );

  it('of one team is none of another', async () => {
    const [one, another] = [await gateway.addTeam(), await gateway.addTeam()];
    const { checksum } = (await create(one, CAMPAIGN, { query: '?_dryRun=1' })).json<{ checksum: string }>();
    expect(outcomeOf(await create(another, CAMPAIGN, { headers: { 'x-write-checksum': checksum } }))).toBe(
      '422 write_guard_refused',
    );
  });
});

it('a write of nothing is refused, too, where more was written than the day allows now', async () => {
  const { id, key } = await guarded();
  expect((await create(key)).status).toBe(201);
  const { maxPerCall: _, ...budget } = RULE.budget;
  const writeGuard = { [CREATE]: { budget: { ...budget, maxPerDay: 500 } } };
  await gateway.manage('PATCH', `/teams/${id}`, { writeGuard });
  gateway.simulator.clearCalls();
  const answer = await create(key, total(0));
  expect(problem(answer)).toMatchObject({
    code: 'write_guard_refused',
    errors: [{ param: 'budget.maxPerDay', message: expect.stringContaining(', 0 EUR left') }],
  });
  expect(sent()).toEqual([]);
  const looked = await create(key, total(0), { query: '?_dryRun=1' });
  expect(looked.json()).toMatchObject({ wouldBeSent: false, left: { amount: 0, max: 500 } });
  const { budgets } = await gateway.manage('GET', `/teams/${id}/write-budgets`);
  expect(budgets).toMatchObject([{ left: 0 }]);
});

describe('teams without a guard', () => {
  it('may not write where the operator says so', async () => {
    const strict = await withGateway({ config: { writeGuard: { default: 'refuse' } } });
    const key = await strict.addTeam();
    const answer = await strict.call(PATH, { method: 'POST', key, json: CAMPAIGN });
    expect(problem(answer)).toMatchObject({ status: 422, errors: [{ param: 'writeGuard.default' }] });
    expect(strict.simulator.calls).toEqual([]);
    const looked = await strict.call(`${PATH}?_dryRun=1`, { method: 'POST', key, json: CAMPAIGN });
    expect(looked.json()).toMatchObject({ wouldBeSent: false });
    expect((await strict.call('/api/v1/campaign/999', { key })).status).toBe(404);
  });
});

describe('a write guard as a member of a team', () => {
  it('is shown, replaced whole, kept by other changes and taken away by null; all in the audit', async () => {
    const { id } = await guarded();
    const own = `/teams/${id}`;
    expect(await gateway.manage('GET', own)).toMatchObject({ writeGuard: { [CREATE]: RULE } });
    expect(await gateway.manage('PATCH', own, { name: 'x' })).toMatchObject({
      writeGuard: { [CREATE]: RULE },
    });
    expect(await gateway.manage('PATCH', own, { writeGuard: {} })).toMatchObject({ writeGuard: {} });
    expect(await gateway.manage('PATCH', own, { writeGuard: null })).not.toHaveProperty('writeGuard');
    const { entries } = (await gateway.manage('GET', `/audit?team=${id}&limit=2`)) as { entries: object[] };
    expect(entries).toMatchObject([
      { action: 'team.update', before: { writeGuard: {} } },
      { action: 'team.update', before: { writeGuard: { [CREATE]: RULE } }, after: { writeGuard: {} } },
    ]);
  });

  it('with a member that another release knows is not half enforced', async () => {
    const { id, key } = await guarded();
    const record = gateway.services.directory.team(id);
    const foreign = { ...record, writeGuard: { [CREATE]: { ...RULE, maxPerHour: 1 } } };
    await gateway.services.registry.commit({ writes: new Map([[`team/${id}`, JSON.stringify(foreign)]]) });
    expect(outcomeOf(await create(key))).toBe('503 write_guard_unavailable');
    expect((await gateway.call('/api/v1/campaign/999', { key })).status).toBe(404);
    expect(await gateway.manage('PATCH', `/teams/${id}`, { name: 'y' })).toMatchObject({
      writeGuard: foreign.writeGuard,
    });
    expect(sent().filter(({ method }) => method === 'POST')).toEqual([]);
  });
});
