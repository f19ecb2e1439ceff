import { describe, expect, it, vi } from 'vitest';
import { type Handler, sends, startHeldPlatform, startRawPlatform } from '../../support/raw-platform.js';
import { openInMemory } from '../../support/shared-registry.js';
import { type GatewayOptions, gatewayAt, outcomeOf } from '../../support/start-gateway.js';
import { createTestClock, HOUR } from '../../support/test-clock.js';
import { ALWAYS, byDay, periodOf, rowsPerDay } from './by-day.js';
import { expectNothingHeld, heldBy, watchLocks } from './held-locks.js';

const whole = (advertiser: number) => `advertiserId=${advertiser}&dateFrom=2026-11-01&dateTo=2026-11-07`;
const ROWS = sends('{"data":[{"impressions":7}]}');
const ILL = sends('{}', {}, 503);

async function watched(
  platform: { readonly url: string; readonly token: string },
  config: GatewayOptions['config'] = {},
  team: Readonly<Record<string, unknown>> = {},
) {
  const locks = watchLocks();
  const gateway = await gatewayAt(platform, { config, wrapStore: locks.wrapStore });
  return { gateway, key: await gateway.addTeam(team), locks };
}

describe('nobody holds a slot or a lock while he waits', () => {
  it('in line for a slot', async () => {
    const platform = await startHeldPlatform(ROWS);
    const { gateway, key, locks } = await watched(platform, { platform: { maxConcurrent: 1 } });
    const busy = gateway.report(key, whole(1));
    await platform.arrived(1);
    const [inLine] = [gateway.report(key, whole(2)), gateway.report(key, whole(3))];
    await expect.poll(() => heldBy(gateway, locks)).toEqual([1, 2, 0, 1]);
    platform.release();
    expect((await Promise.all([busy, inLine])).map(outcomeOf)).toEqual(['200', '200']);
    await expectNothingHeld(gateway, locks);
  });

  it('for a lock of another process: its slot serves another report meanwhile', async () => {
    const platform = await startHeldPlatform(ROWS);
    const [clock, locks] = [createTestClock(), watchLocks()];
    const shared = { clock, sharedStore: await openInMemory(clock) };
    const holder = await gatewayAt(platform, shared);
    const one = { platform: { maxConcurrent: 1 } };
    const waiter = await gatewayAt(platform, { ...shared, config: one, wrapStore: locks.wrapStore });
    const key = await holder.addTeam();
    await waiter.services.registry.refresh();
    const first = holder.report(key, whole(1));
    await platform.arrived(1);
    const same = waiter.report(key, whole(1));
    await expect.poll(() => heldBy(waiter, locks)).toEqual([0, 0, 1, 0]);
    const other = waiter.report(key, whole(2));
    await platform.arrived(2);
    platform.release();
    expect((await Promise.all([first, same, other])).map(outcomeOf)).toEqual(['200', '200', '200']);
    expect(platform.requests).toHaveLength(2);
    await expectNothingHeld(waiter, locks);
  });

  it('to try again: another report is served by the one slot meanwhile', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.99);
    const platform = await startRawPlatform(ILL);
    const { gateway, key, locks } = await watched(platform, {
      platform: { maxConcurrent: 1, retry: { attempts: 1, baseMs: 1000 } },
    });
    const failing = gateway.report(key, whole(1));
    await expect.poll(() => platform.requests.length).toBe(1);
    await expect.poll(() => heldBy(gateway, locks)).toEqual([0, 0, 0, 0]);
    platform.answer(ROWS);
    expect(outcomeOf(await gateway.report(key, whole(2)))).toBe('200');
    expect(platform.requests).toHaveLength(2);
    expect(outcomeOf(await failing)).toBe('200');
    await expectNothingHeld(gateway, locks);
  });

  it('for the write of what it was given long ago: the locks alone last until it has settled', async () => {
    const platform = await startRawPlatform(ROWS);
    const locks = watchLocks();
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const gateway = await gatewayAt(platform, {
      wrapStore(store) {
        const inner = locks.wrapStore(store);
        const cache = Object.create(store.cache) as typeof store.cache;
        cache.read = () => Promise.reject(new Error('the store is away'));
        cache.write = async (...args) => {
          await gate;
          return store.cache.write(...args);
        };
        return { ...inner, cache };
      },
    });
    const key = await gateway.addTeam();
    expect(outcomeOf(await gateway.report(key, whole(1)))).toBe('200');
    expect(heldBy(gateway, locks)).toEqual([0, 0, 0, 1]);
    open();
    await expectNothingHeld(gateway, locks);
  });
});

it('claims locks, reads the store again and charges the share in one trip', async () => {
  const platform = await startRawPlatform(ROWS);
  let isHolding = false;
  const held: { readonly name: string; readonly go: () => void }[] = [];
  async function hold(name: string): Promise<void> {
    if (isHolding) await new Promise<void>((go) => held.push({ name, go }));
  }
  const gateway = await gatewayAt(platform, {
    wrapStore({ cache, days, quotas, ...store }) {
      const read: typeof cache.read = (...args) => hold('read').then(() => cache.read(...args));
      const claim: typeof days.claim = (...args) => hold('claim').then(() => days.claim(...args));
      const take: typeof quotas.take = (...args) =>
        (args[0].startsWith('calls:') ? hold('charge') : Promise.resolve()).then(() => quotas.take(...args));
      return {
        ...store,
        cache: Object.assign(Object.create(cache), { read }),
        days: { ...days, claim },
        quotas: { ...quotas, take },
      };
    },
  });
  const key = await gateway.addTeam();
  isHolding = true;
  const answer = gateway.report(key, whole(1));
  const trips: string[][] = [];
  while (platform.requests.length === 0) {
    await expect.poll(() => held.length + platform.requests.length).toBeGreaterThan(0);
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    const trip = held.splice(0);
    // After the call, the first answer to a team in a day may read its share for a header.
    if (trip.length > 0 && platform.requests.length === 0) trips.push(trip.map(({ name }) => name));
    for (const { go } of trip) go();
  }
  isHolding = false;
  for (const { go } of held) go();
  expect(outcomeOf(await answer)).toBe('200');
  expect(trips).toEqual([['read'], ['claim', 'read', 'charge']]);
});

/** Answers the first request as told, and the others as the platform would. */
const firstly = (first: Handler, then: Handler): Handler => {
  let isFirst = true;
  return (request, response) => {
    const handler = isFirst ? first : then;
    isFirst = false;
    handler(request, response);
  };
};

const refusesParts: Handler = (request, response) => {
  const [from, to] = periodOf(request);
  const isWhole = from === '2026-11-01' && to === '2026-11-06';
  (isWhole ? rowsPerDay(() => 1) : sends('{"message":"no"}', {}, 422))(request, response);
};

interface Scenario {
  readonly title: string;
  readonly answer: Handler;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly team?: Readonly<Record<string, unknown>>;
  readonly outcomes: readonly string[];
}

const NO_RETRY = { retry: { attempts: 0 } };
const CHUNKS = { report: { ...ALWAYS.report, maxDaysPerCall: 2, mergeGapDays: 0 } };
const CAPPED = { report: { endpoints: { 'campaigns/get': { divisible: 'always', rowCap: 4 } } } };
const rowsAnd = (more: string) =>
  sends(`{"data":[{"date":"2026-11-01","campaign_id":1,"advertiser_id":1}]${more}}`);

const SCENARIOS: readonly Scenario[] = [
  {
    title: 'calls that fail, again and again',
    answer: ILL,
    // Twenty at once: whether the first has its own last failure or finds the circuit open is a matter of turns.
    outcomes: ['502 upstream_error', '503 upstream_circuit_open'],
  },
  {
    title: 'a call that fails once',
    answer: firstly(
      ILL,
      rowsPerDay(() => 1),
    ),
    outcomes: ['200'],
  },
  {
    title: 'a platform that never answers',
    answer: (request) => void request.resume(),
    config: { platform: { timeoutMs: 500, ...NO_RETRY } },
    outcomes: ['504 upstream_timeout'],
  },
  {
    title: 'an answer that breaks off',
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"data":[');
      setImmediate(() => response.destroy());
    },
    config: { platform: NO_RETRY },
    outcomes: ['502 upstream_error'],
  },
  {
    title: 'a circuit that opens between two calls of one report',
    answer: ILL,
    config: {
      ...CHUNKS,
      platform: { maxConcurrent: 2, ...NO_RETRY, circuit: { failures: 1, openSeconds: 9 } },
    },
    outcomes: ['502 upstream_error', '503 upstream_circuit_open'],
  },
  {
    title: 'a token that is refused',
    answer: sends('{}', {}, 401),
    outcomes: ['503 credential_unavailable'],
  },
  {
    title: 'one chunk of several that fails',
    answer: firstly(
      sends('{}', {}, 500),
      rowsPerDay(() => 1),
    ),
    config: { ...CHUNKS, platform: NO_RETRY },
    outcomes: ['200', '502 upstream_error'],
  },
  {
    title: 'a share that ends between two calls of one report',
    answer: rowsPerDay(() => 1),
    config: { ...CHUNKS, platform: { maxConcurrent: 2, ...NO_RETRY } },
    team: { limits: { upstreamCallsPerDay: 2, requestsPerMinute: 1000, maxConcurrent: 100 } },
    outcomes: ['200', '429 upstream_budget_exhausted'],
  },
  { title: 'a refusal', answer: sends('{"message":"no"}', {}, 422), outcomes: ['422 upstream_rejected'] },
  { title: 'a refusal of parts of the period', answer: refusesParts, outcomes: ['200'] },
  { title: 'capped answers, in halves', answer: rowsPerDay(() => 2, 4), config: CAPPED, outcomes: ['200'] },
  { title: 'an answer that cannot be split', answer: rowsAnd(',"total":{"spent":1}'), outcomes: ['200'] },
  {
    title: 'an answer that may be no report',
    answer: sends('{"data":{"reason":"x"}}'),
    outcomes: ['200', '502 upstream_invalid_response'],
  },
  {
    title: 'an answer that may not be kept',
    answer: (request, response) => {
      response.setHeader('cache-control', 'no-store');
      rowsPerDay(() => 1)(request, response);
    },
    outcomes: ['200'],
  },
];

describe('nothing is held any more after', () => {
  it.each(SCENARIOS)('$title', async ({ answer, config = ALWAYS, team = {}, outcomes }) => {
    const platform = await startRawPlatform(answer);
    const { gateway, key, locks } = await watched(platform, { ...ALWAYS, ...config }, team);
    const queries = [
      byDay('2026-11-01', '2026-11-06'),
      byDay('2026-11-04', '2026-11-09'),
      byDay('2026-11-01', '2026-11-06'),
      `${byDay('2026-11-01', '2026-11-06')}&_totals=1`,
      `${byDay('2026-11-01', '2026-11-06')}&_format=raw`,
    ];
    const wishes: Readonly<Record<string, string>>[] = [{}, { 'cache-control': 'no-cache' }];
    const calls = queries.flatMap((query, at) =>
      Array.from({ length: 4 }, (_, nth) =>
        gateway.report(key, query, { headers: wishes[(at + nth) % 2] as (typeof wishes)[0] }),
      ),
    );
    const [first] = await Promise.all(calls);
    expect(outcomes).toContain(outcomeOf(first as (typeof calls)[0] extends Promise<infer R> ? R : never));
    await expectNothingHeld(gateway, locks);
    // The refresh behind what is stale, or one more try.
    gateway.clock.advance(2 * HOUR);
    await Promise.all(queries.map((query) => gateway.report(key, query)));
    await expectNothingHeld(gateway, locks);
  });
});
