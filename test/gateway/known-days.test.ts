/** What a caller is told of a report by date while the platform fails: when to repeat, and which days are cached. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/errors.js';
import type { Problem } from '../../src/lib/http/problem.js';
import { daysBetween } from '../../src/reports/query/days.js';
import { withKnown } from '../../src/reports/report-answer.js';
import { agentOf } from '../api/mcp/agent.js';
import { ALWAYS, byDay } from '../reports/fetch/by-day.js';
import { outcomeOf, type Reply, reportIn, withGateway, withTeam } from '../support/start-gateway.js';
import { DAY } from '../support/test-clock.js';

const WEEK = byDay('2026-11-01', '2026-11-07');

/** A gateway whose platform fails once it has given these days. */
async function away(...cached: readonly (readonly [from: string, to: string])[]) {
  const { gateway, key } = await withTeam({ config: { ...ALWAYS, platform: { retry: { attempts: 0 } } } });
  for (const period of cached) await gateway.report(key, byDay(...period));
  await gateway.services.settled();
  gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
  return { gateway, ask: (query: string, headers = {}) => gateway.report(key, query, { headers }) };
}

const problemIn = (reply: Reply) => reply.json<Problem>();
const SOME = [
  ['2026-11-01', '2026-11-03'],
  ['2026-11-05', '2026-11-05'],
] as const;
const KNOWN = [
  { from: '2026-11-05', to: '2026-11-05' },
  { from: '2026-11-01', to: '2026-11-03' },
];

describe('of a report that the platform fails to complete', () => {
  it('the cached days are named, newest first, and help names a request that is answered', async () => {
    const { ask } = await away(...SOME);
    const refused = await ask(WEEK);
    expect(outcomeOf(refused)).toBe('502 upstream_error');
    const { known, help } = problemIn(refused);
    expect(known).toEqual(KNOWN);
    const wait = refused.headers['retry-after'];
    expect(help).toBe(
      `Repeat after ${wait} s; if it persists, report the requestId to your operator; meanwhile dateFrom=2026-11-05 with dateTo=2026-11-05 is answered from the cache.`,
    );
    for (const { from, to } of KNOWN)
      expect(reportIn(await ask(byDay(from, to))).meta.rowCount).toBeGreaterThan(0);
  });

  it('they are named while calls are suspended, with _totals, and with no-cache, which they answer too', async () => {
    const { ask } = await away(...SOME);
    while (outcomeOf(await ask('advertiserId=2')) !== '503 upstream_circuit_open');
    for (const [query, headers] of [
      [WEEK, {}],
      [`${WEEK}&_totals=1`, {}],
      [WEEK, { 'cache-control': 'no-cache' }],
    ] as const) {
      const refused = await ask(query, headers);
      expect([outcomeOf(refused), problemIn(refused).known]).toEqual(['503 upstream_circuit_open', KNOWN]);
      expect(problemIn(refused).help).toMatch(
        /^Wait for \d+ s, then repeat; meanwhile dateFrom=2026-11-05 with/,
      );
    }
    expect(outcomeOf(await ask(byDay('2026-11-01', '2026-11-03'), { 'cache-control': 'no-cache' }))).toBe(
      '200',
    );
  });

  it('an assistant is told the same in the arguments of its tool', async () => {
    const { gateway } = await away(...SOME);
    const agent = await agentOf(gateway, await gateway.addTeam({ scopes: ['report:read', 'mcp'] }));
    const period = { from: '2026-11-01', to: '2026-11-07' };
    const { body } = await agent.call('query_report', { advertiserId: 1, split: ['date'], period });
    expect(body).toMatchObject({
      code: 'upstream_error',
      known: KNOWN,
      retryAfterSeconds: expect.any(Number),
    });
    expect(body.help?.split('; meanwhile ').slice(1)).toEqual([
      'period.from "2026-11-05" with period.to "2026-11-05" is answered from the cache.',
    ]);
  });

  it('days that are too old to be answered in spite of a failure are not named', async () => {
    const { gateway, ask } = await away(['2026-11-20', '2026-11-20']);
    const query = byDay('2026-11-19', '2026-11-20');
    expect(problemIn(await ask(query)).known).toEqual([{ from: '2026-11-20', to: '2026-11-20' }]);
    gateway.clock.advance(30 * DAY);
    expect(problemIn(await ask(query))).not.toHaveProperty('known');
    expect(outcomeOf(await ask(byDay('2026-11-20', '2026-11-20')))).toMatch(/^50/);
  });

  it.each([
    ['no day is cached', WEEK],
    ['only other days are cached', byDay('2026-11-06', '2026-11-07')],
    ['it is not by date', WEEK.replace('byDate', 'byCampaign')],
  ])('nothing is named where %s', async (what, query) => {
    const { ask } = await (what.startsWith('no') ? away() : away(...SOME));
    const problem = problemIn(await ask(query));
    expect(problem.code).toBe('upstream_error');
    expect(problem).not.toHaveProperty('known');
    expect(problem.help).not.toContain('meanwhile');
  });
});

it('a report that the platform does not answer in time may be repeated after ten seconds', async () => {
  const gateway = await withGateway({ config: { platform: { timeoutMs: 1500 } } });
  const key = await gateway.addTeam();
  gateway.simulator.fault({ kind: 'hang' });
  const refused = await gateway.report(key, WEEK);
  expect([outcomeOf(refused), refused.headers['retry-after']]).toEqual(['504 upstream_timeout', '10']);
  expect(problemIn(refused).help).toBe('Repeat after 10 s, or request a shorter period.');
});

it('the periods named are runs of days without a gap, the newest five', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), (isCached) => {
      const dates = daysBetween('2026-10-01', '2026-11-30').slice(0, isCached.length);
      const refs = dates.map((id) => ({ id }));
      const missing = refs.filter((_ref, at) => !isCached[at]);
      const error = new GatewayError('upstream_error', { retryAfterS: 3 });
      const decision = { mode: 'days', refs, missing } as unknown as Parameters<typeof withKnown>[1];
      const { options } = withKnown(error, decision) as GatewayError;
      expect(options.retryAfterS).toBe(3);
      // One mark a day, runs of marks as periods.
      const runs = [
        ...isCached
          .map((is) => (is ? 'x' : '.'))
          .join('')
          .matchAll(/x+/g),
      ]
        .map(({ index, 0: run }) => ({ from: dates[index], to: dates[index + run.length - 1] }))
        .toReversed();
      expect(options.known ?? []).toEqual(runs.slice(0, 5));
    }),
  );
});
