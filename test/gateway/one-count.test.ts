/** Each request counts as the same thing in the log, in the metrics, in usage, in the series and in the ledger. */
import { expect, it } from 'vitest';
import { type SimulatedGateway, withTeam } from '../support/start-gateway.js';
import { HOUR } from '../support/test-clock.js';
import { FINAL, RESTATING } from './reports.js';

interface Numbers {
  readonly requests: number;
  readonly errors: number;
  readonly rateLimited: number;
  readonly platformCallsSaved: number;
}
interface Series {
  readonly series: Readonly<Record<keyof Numbers, readonly number[]>> & {
    readonly outcomes: Readonly<Record<string, readonly number[]>>;
    readonly hitTiers: { readonly memory: readonly number[]; readonly store: readonly number[] };
  };
}
interface Usage extends Omit<Numbers, 'platformCallsSaved'> {
  readonly hits: number;
  readonly stale: number;
  readonly misses: number;
  readonly upstreamCallsSaved: number;
}

const sum = (numbers: Iterable<number> = []) => [...numbers].reduce((all, one) => all + one, 0);

/** @returns the sum of a metric's samples, by the value of a label */
async function metric({ services }: SimulatedGateway, name: string, label: string) {
  const text = await services.metrics.registry.metrics();
  const found = new Map<string, number>();
  for (const [, labels = '', value] of text.matchAll(
    new RegExp(`^dsp_gateway_${name}\\{(.*)\\} (\\d+)$`, 'gm'),
  )) {
    const key = new RegExp(`${label}="([^"]*)"`).exec(labels)?.[1] ?? '';
    if (!labels.includes('plane=') || labels.includes('plane="data"'))
      found.set(key, (found.get(key) ?? 0) + Number(value));
  }
  return found;
}

/** What each face has counted of the team so far. */
async function faces(gateway: SimulatedGateway) {
  await gateway.services.settled();
  await gateway.services.tally.flush();
  const { series: team } = (await gateway.manage('GET', '/series?range=24h&team=a')) as unknown as Series;
  const { series: all } = (await gateway.manage('GET', '/series?range=24h')) as unknown as Series;
  const { teams, withoutKey } = (await gateway.manage('GET', '/series/teams?range=24h')) as unknown as {
    teams: readonly (Numbers & { readonly id: string })[];
    withoutKey: Numbers | null;
  };
  const { usage } = (await gateway.manage('GET', '/usage?team=a')) as unknown as { usage: readonly Usage[] };
  const [requests, problems, tiers, saved] = await Promise.all([
    metric(gateway, 'requests_total', 'outcome'),
    metric(gateway, 'problems_total', 'code'),
    metric(gateway, 'report_hits_total', 'tier'),
    metric(gateway, 'platform_calls_saved_total', 'team'),
  ]);
  const own = teams.find(({ id }) => id === 'a');
  const of = (name: keyof Usage) => sum(usage.map((day) => day[name]));
  const outcomes = (series: Series['series'], ...names: string[]) =>
    sum(names.flatMap((name) => series.outcomes[name] ?? []));
  const lines = gateway.log.filter(({ plane, msg }) => plane === 'data' && msg === 'request');
  const logged = (...names: string[]) =>
    lines.filter(({ outcome }) => names.includes(String(outcome))).length;
  const exported = (...names: string[]) => sum(names.map((name) => requests.get(name) ?? 0));
  const MISSES = ['miss', 'refresh', 'forced', 'collapsed', 'failed'];
  const STALE = ['stale', 'stale-if-error'];
  return {
    log: { all: lines.length, problems: lines.filter(({ code }) => code !== undefined).length },
    metrics: { all: sum(requests.values()), problems: sum(problems.values()) },
    // Each number as each face has it.
    hits: [of('hits'), outcomes(team, 'hit'), outcomes(all, 'hit'), logged('hit'), exported('hit')],
    stale: [
      of('stale'),
      outcomes(team, ...STALE),
      outcomes(all, ...STALE),
      logged(...STALE),
      exported(...STALE),
    ],
    misses: [
      of('misses'),
      outcomes(team, ...MISSES),
      outcomes(all, ...MISSES),
      logged(...MISSES),
      exported(...MISSES),
    ],
    failed: [outcomes(team, 'failed'), outcomes(all, 'failed'), logged('failed'), exported('failed')],
    tiers: [sum(all.hitTiers.memory) + sum(all.hitTiers.store), sum(tiers.values()), logged('hit')],
    requests: [of('requests'), sum(team.requests), own?.requests ?? 0],
    errors: [of('errors'), sum(team.errors), own?.errors ?? 0],
    rateLimited: [of('rateLimited'), sum(team.rateLimited), own?.rateLimited ?? 0],
    saved: [
      of('upstreamCallsSaved'),
      sum(team.platformCallsSaved),
      own?.platformCallsSaved ?? 0,
      saved.get('a') ?? 0,
    ],
    strangers: withoutKey?.requests ?? 0,
    counted: sum(all.requests),
  };
}
type Faces = Awaited<ReturnType<typeof faces>>;
/** Numbers that all faces have alike. */
const SHARED = [
  'hits',
  'stale',
  'misses',
  'failed',
  'tiers',
  'requests',
  'errors',
  'rateLimited',
  'saved',
] as const;

function newsOf(before: Faces, after: Faces) {
  const news = SHARED.map((name) => {
    const grown = after[name].map((count, at) => count - (before[name][at] ?? 0));
    expect([name, grown]).toEqual([name, grown.map(() => grown[0])]);
    return [name, grown[0] as number] as const;
  });
  return Object.fromEntries(news.filter(([, by]) => by !== 0));
}

const byTool = (gateway: SimulatedGateway, key: string) =>
  gateway.call('/mcp', {
    method: 'POST',
    key,
    headers: { accept: 'application/json, text/event-stream' },
    json: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'query_report',
        arguments: { advertiserId: 1, period: { from: '2026-10-01', to: '2026-10-02' }, split: ['date'] },
      },
    },
  });

const onlyIfCached = (gateway: SimulatedGateway, key: string) =>
  gateway.report(key, 'advertiserId=1&dateFrom=2026-09-01&dateTo=2026-09-02', {
    headers: { 'cache-control': 'only-if-cached' },
  });

it('counts a request as the same in usage, series, ledger, log and metrics, whatever came of it', async () => {
  const { gateway, key } = await withTeam(
    { config: { platform: { retry: { baseMs: 1 } } } },
    { id: 'a', advertisers: [1], scopes: ['report:read', 'mcp'] },
  );
  const { simulator, clock } = gateway;
  const ask = (query: string) => gateway.report(key, query);
  const failing = (play: () => Promise<unknown>) => {
    simulator.fault({ kind: 'status', status: 503, times: 9 });
    return play();
  };
  const table: [what: string, () => Promise<unknown>, expected: Record<string, number>][] = [
    ['a miss', () => ask(RESTATING), { requests: 1, misses: 1 }],
    ['a hit', () => ask(RESTATING), { requests: 1, hits: 1, tiers: 1, saved: 1 }],
    [
      'a hit of another form',
      () => ask(`${RESTATING}&_format=csv`),
      { requests: 1, hits: 1, tiers: 1, saved: 1 },
    ],
    [
      'an old answer',
      () => {
        clock.advance(HOUR);
        return ask(RESTATING);
      },
      { requests: 1, stale: 1, saved: 1 },
    ],
    [
      'a platform that fails',
      () => failing(() => ask(FINAL)),
      { requests: 1, misses: 1, failed: 1, errors: 1 },
    ],
    [
      'the same by a tool',
      () => failing(() => byTool(gateway, key)),
      { requests: 1, misses: 1, failed: 1, errors: 1 },
    ],
    ['an advertiser of others', () => ask('advertiserId=2'), { requests: 1, errors: 1 }],
    ['a query that is wrong', () => ask('advertiserId=x'), { requests: 1, errors: 1 }],
    ['a miss that was only looked for', () => onlyIfCached(gateway, key), { requests: 1, errors: 1 }],
    ['a call about reports', () => gateway.call('/gateway/v1/pins', { key }), { requests: 1 }],
    ['the team itself', () => gateway.call('/gateway/v1/me', { key }), {}],
    ['a free call, refused', () => gateway.call('/gateway/v1/series', { key }), { requests: 1, errors: 1 }],
    ['a probe', () => gateway.call('/healthz'), {}],
    ['a wrong path', () => gateway.call('/api/v1//x', { key }), {}],
    [
      'a miss, and a request too many',
      async () => {
        await gateway.manage('PATCH', '/teams/a', { limits: { requestsPerMinute: 1 } });
        // What was drawn until now has refilled, however long that took.
        clock.advance(HOUR);
        await ask(FINAL);
        return ask(FINAL);
      },
      { requests: 2, misses: 1, rateLimited: 1 },
    ],
    ['a stranger', () => gateway.call('/api/v1/report/campaigns/get'), {}],
  ];
  for (const [what, play, expected] of table) {
    const before = await faces(gateway);
    await play();
    simulator.clearFaults();
    const after = await faces(gateway);
    expect([what, newsOf(before, after)]).toEqual([what, expected]);
    expect([after.log.all, after.log.problems]).toEqual([after.metrics.all, after.metrics.problems]);
    expect(after.counted).toBe((after.requests[0] as number) + after.strangers);
  }
});
