/** Contract: `idempotency-key` on a POST that is passed through makes a repeat return the first answer. */
import { describe, expect, it } from 'vitest';
import { type Documents, type Store, StoreUnavailable } from '../../src/store/port.js';
import { type Handler, sends, startHeldPlatform, startRawPlatform } from '../support/raw-platform.js';
import {
  type GatewayOptions,
  gatewayAt,
  outcomeOf,
  type Reply,
  type TestGateway,
  withTeam,
} from '../support/start-gateway.js';
import { createTestClock, HOUR } from '../support/test-clock.js';

const CREATE = '/api/v1/campaign/create';
const BODY = { userId: 1, name: 'New' };
const CREATED = sends('{"id": 77 }', { 'content-type': 'application/json; charset=utf-8', etag: '"e"' }, 201);

interface Sent {
  readonly idempotencyKey?: string;
  readonly json?: unknown;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function poster(gateway: TestGateway, key: string) {
  return ({
    idempotencyKey = 'order-7',
    json = BODY,
    path = CREATE,
    headers = {},
  }: Sent = {}): Promise<Reply> =>
    gateway.call(path, {
      method: 'POST',
      key,
      json,
      headers: { 'idempotency-key': idempotencyKey, ...headers },
    });
}

async function open(handler: Handler, options: GatewayOptions = {}) {
  const platform = await startRawPlatform(handler);
  const gateway = await gatewayAt(platform, options);
  const key = await gateway.addTeam();
  return { platform, gateway, key, post: poster(gateway, key) };
}

/** A store whose documents can be taken away, call by call. */
function breakable() {
  const state: { broken: readonly (keyof Documents)[]; done: boolean } = { broken: [], done: false };
  const wrapStore = (store: Store): Store => {
    const through =
      <A extends unknown[], R>(name: keyof Documents, call: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        if (!state.broken.includes(name)) return call(...args);
        // As with Redis: the change may have been made all the same.
        if (state.done) await call(...args);
        throw new StoreUnavailable('away');
      };
    const documents: Documents = {
      create: through('create', store.documents.create),
      get: through('get', store.documents.get),
      replace: through('replace', store.documents.replace),
    };
    return Object.assign(Object.create(store) as Store, { documents });
  };
  return { state, wrapStore };
}

describe('a repeat with the same idempotency key', () => {
  it('gets the first answer byte for byte, and the platform is asked once', async () => {
    const { platform, post, gateway } = await open(CREATED);
    const first = await post();
    const again = await post();
    expect(platform.requests).toHaveLength(1);
    for (const reply of [first, again]) {
      expect([reply.status, reply.text]).toEqual([201, '{"id": 77 }']);
      expect(reply.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'content-length': '11',
        'cache-control': 'private, no-store',
        etag: '"e"',
      });
    }
    expect([first.headers['idempotency-replayed'], first.headers['cache-status']]).toEqual([
      undefined,
      'dsp-gateway; fwd=bypass',
    ]);
    expect([again.headers['idempotency-replayed'], again.headers['cache-status']]).toEqual([
      'true',
      'dsp-gateway; hit; detail=idempotency',
    ]);
    const lines = gateway.log.filter(({ path }) => path === CREATE);
    expect(lines.map(({ outcome, platformCalls }) => [outcome, platformCalls])).toEqual([
      ['pass', 1],
      ['replay', 0],
    ]);
  });

  it('is refused with another body, query or path, and the platform is not asked', async () => {
    const { platform, post } = await open(CREATED);
    await post();
    const others: Sent[] = [
      { json: { ...BODY, name: 'Other' } },
      { path: `${CREATE}?dry=1` },
      { path: '/api/v1/campaign/copy' },
    ];
    for (const other of others) expect(outcomeOf(await post(other))).toBe('422 idempotency_mismatch');
    expect((await post()).status).toBe(201);
    expect(platform.requests).toHaveLength(1);
  });

  it('is a first request for another key and for another team', async () => {
    const { platform, gateway, post } = await open(CREATED);
    const other = poster(gateway, await gateway.addTeam());
    await post();
    await post({ idempotencyKey: 'order-8' });
    const foreign = await other({ json: { secret: 'of the other team' } });
    expect([foreign.status, foreign.headers['idempotency-replayed']]).toEqual([201, undefined]);
    expect(platform.requests).toHaveLength(3);
  });

  it('is a first request again after 24 hours, not a moment before', async () => {
    const { platform, gateway, post } = await open(CREATED);
    await post();
    gateway.clock.advance(24 * HOUR - 1);
    expect((await post()).headers['idempotency-replayed']).toBe('true');
    gateway.clock.advance(1);
    expect((await post({ json: { other: 1 } })).status).toBe(201);
    expect(platform.requests).toHaveLength(2);
  });

  it('passes the checks of the team as it is now', async () => {
    const { platform, gateway } = await open(CREATED);
    const post = poster(gateway, await gateway.addTeam({ id: 'narrow', advertisers: [1] }));
    expect((await post()).status).toBe(201);
    await gateway.manage('PATCH', '/teams/narrow', { advertisers: [2] });
    expect(outcomeOf(await post())).toBe('403 advertiser_forbidden');
    await gateway.manage('PATCH', '/teams/narrow', { advertisers: [1], scopes: ['report:read'] });
    expect(outcomeOf(await post())).toBe('403 scope_missing');
    expect(platform.requests).toHaveLength(1);
  });

  it('finds the answer on a replica whose clock is two days ahead', async () => {
    const { platform, gateway, key, post } = await open(CREATED);
    const clock = createTestClock(new Date(gateway.clock.now() + 48 * HOUR).toISOString());
    const replica = await gatewayAt(platform, { sharedStore: gateway.store, clock });
    await post();
    const again = await poster(replica, key)();
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([201, 'true']);
    expect(platform.requests).toHaveLength(1);
  });
});

describe('while the first is under way', () => {
  it('a repeat is 409, and so is one on another replica; afterwards it gets the answer', async () => {
    const platform = await startHeldPlatform(CREATED);
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const replica = await gatewayAt(platform, { sharedStore: gateway.store, clock: gateway.clock });
    const post = poster(gateway, key);
    const first = post();
    await platform.arrived(1);
    for (const repeat of [await post(), await poster(replica, key)()]) {
      expect(outcomeOf(repeat)).toBe('409 idempotency_in_flight');
      expect(repeat.headers['retry-after']).toBe('1');
    }
    platform.release();
    expect((await first).status).toBe(201);
    expect((await post()).headers['idempotency-replayed']).toBe('true');
    expect(platform.requests).toHaveLength(1);
  });

  it('of many at the same moment one reaches the platform', async () => {
    const platform = await startHeldPlatform(CREATED);
    const gateway = await gatewayAt(platform);
    const post = poster(gateway, await gateway.addTeam());
    const all = Array.from({ length: 20 }, () => post());
    await platform.arrived(1);
    platform.release();
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201).length).toBeGreaterThanOrEqual(1);
    expect(statuses.every((status) => status === 201 || status === 409)).toBe(true);
    expect(platform.requests).toHaveLength(1);
  });
});

describe('when the outcome is not known', () => {
  const QUICK = { config: { platform: { timeoutMs: 300 } } };
  const BROKEN: readonly [string, Handler, string][] = [
    ['answers 500', sends('oops', {}, 500), 'upstream_error'],
    ['redirects elsewhere', sends('', { location: '/elsewhere' }, 302), 'upstream_invalid_response'],
    ['breaks the connection', (request) => void request.socket.destroy(), 'upstream_error'],
    ['does not answer', (request) => void request.resume(), 'upstream_timeout'],
    [
      'breaks off its answer',
      (_request, response) => {
        response.writeHead(201, { 'content-length': '100' });
        response.write('{"id"', () => response.destroy());
      },
      'upstream_error',
    ],
  ];
  it.each(BROKEN)(
    'because the platform %s, nobody asks again until 24 hours are over',
    async (_how, handler, code) => {
      const { platform, gateway, post } = await open(handler, QUICK);
      const first = await post();
      expect(first.json().code).toBe(code);
      platform.answer(CREATED);
      for (const waitMs of [0, HOUR]) {
        gateway.clock.advance(waitMs);
        const again = await post();
        expect(outcomeOf(again)).toBe('409 idempotency_in_flight');
        expect(again.json().detail).toMatch(
          new RegExp(`unknown: it ended with ${code}, and the platform may have executed it`),
        );
        expect(again.headers['retry-after']).toBeUndefined();
      }
      expect(outcomeOf(await post({ json: {} }))).toBe('422 idempotency_mismatch');
      expect(platform.requests).toHaveLength(1);
      gateway.clock.advance(24 * HOUR);
      expect((await post()).status).toBe(201);
    },
  );

  it('because the answer is too large to be kept, the first caller gets it whole and a repeat is told', async () => {
    const large = Buffer.alloc(1_048_577, 'x');
    const { platform, post } = await open(sends(large, { 'content-type': 'text/plain' }, 201));
    const first = await post();
    expect([first.status, first.body.equals(large)]).toEqual([201, true]);
    const again = await post();
    expect(outcomeOf(again)).toBe('409 idempotency_in_flight');
    expect(again.json().detail).toContain(
      'it was answered, and the answer was larger than the 1048576 bytes',
    );
    expect(platform.requests).toHaveLength(1);
  });
});

describe('when the platform certainly did nothing', () => {
  it('because it refused the token or wants to wait, a repeat may ask', async () => {
    for (const handler of [sends('', {}, 401), sends('', { 'retry-after': '2' }, 429)]) {
      const { platform, gateway, post } = await open(handler, { onDisk: true });
      expect((await post()).status).toBe(503);
      platform.answer(CREATED);
      gateway.clock.advance(60_000);
      gateway.clock.advanceMonotonic(60_000);
      await gateway.manage('POST', '/token/rotate', { token: 'another-token', force: true });
      expect([(await post()).status, (await post()).headers['idempotency-replayed']]).toEqual([201, 'true']);
      expect(platform.requests).toHaveLength(2);
    }
  });

  it("because the team's share of the day is used up, a repeat may ask the next day", async () => {
    const { platform, gateway } = await open(CREATED);
    const limits = { upstreamCallsPerDay: 1 };
    const post = poster(gateway, await gateway.addTeam({ limits }));
    expect((await post({ idempotencyKey: 'first' })).status).toBe(201);
    expect(outcomeOf(await post())).toBe('429 upstream_budget_exhausted');
    expect((await post({ idempotencyKey: 'first' })).headers['idempotency-replayed']).toBe('true');
    gateway.clock.advance(12 * HOUR);
    expect((await post()).status).toBe(201);
    expect(platform.requests).toHaveLength(2);
  });
});

describe('when the store is away', () => {
  it('the platform is not asked, and what may have been noted all the same is let go of', async () => {
    const { state, wrapStore } = breakable();
    const { platform, gateway, post } = await open(CREATED, { wrapStore });
    state.broken = ['create'];
    state.done = true;
    const refused = await post();
    expect([outcomeOf(refused), refused.headers['retry-after']]).toEqual(['503 not_ready', '5']);
    expect(platform.requests).toHaveLength(0);
    state.broken = [];
    expect(outcomeOf(await post())).toBe('409 idempotency_in_flight');
    await gateway.services.settled();
    expect((await post()).status).toBe(201);
    expect(platform.requests).toHaveLength(1);
  });

  it('the caller still gets the answer, and the outcome is written down when it is back', async () => {
    const { state, wrapStore } = breakable();
    const { platform, gateway, post } = await open(CREATED, { wrapStore });
    state.broken = ['replace'];
    expect((await post()).status).toBe(201);
    expect(outcomeOf(await post())).toBe('409 idempotency_in_flight');
    state.broken = [];
    await gateway.services.settled();
    expect((await post()).headers['idempotency-replayed']).toBe('true');
    expect(platform.requests).toHaveLength(1);
  });

  it('a record that nobody wrote to its end is not asked again either', async () => {
    const { platform, gateway, post } = await open(CREATED, { wrapStore: forgetful });
    expect((await post()).status).toBe(201);
    gateway.clock.advance(30_000);
    expect((await post()).headers['retry-after']).toBe('1');
    gateway.clock.advance(10_000);
    const again = await post();
    expect(outcomeOf(again)).toBe('409 idempotency_in_flight');
    expect(again.json().detail).toContain('unknown: the gateway stopped or lost its store');
    expect(platform.requests).toHaveLength(1);
  });
});

/** Like a process that dies before it writes the outcome down. */
function forgetful(store: Store): Store {
  const documents: Documents = {
    create: store.documents.create,
    get: store.documents.get,
    replace: async () => true,
  };
  return Object.assign(Object.create(store) as Store, { documents });
}

describe('an idempotency key', () => {
  it('is 400 when it is empty, too long or not ASCII', async () => {
    const { platform, gateway, key } = await open(CREATED);
    for (const given of ['', 'a'.repeat(256), 'caf\u00e9']) {
      const reply = await gateway.call(CREATE, {
        method: 'POST',
        key,
        json: BODY,
        headers: { 'idempotency-key': given },
      });
      expect(outcomeOf(reply)).toBe('400 invalid_request');
      expect(reply.json().detail).toBe(
        'idempotency-key must be 1 to 255 printable ASCII characters, and not repeated.',
      );
    }
    expect(platform.requests).toHaveLength(0);
  });

  it('does nothing for a read, and is not sent to the platform', async () => {
    const { platform, gateway, key, post } = await open(CREATED);
    await post();
    for (const method of ['GET'] as const) {
      for (let at = 0; at < 2; at++)
        await gateway.call('/api/v1/campaign/7', { method, key, headers: { 'idempotency-key': 'k' } });
    }
    expect(platform.requests).toHaveLength(3);
    for (const { headers } of platform.requests) expect(headers).not.toHaveProperty('idempotency-key');
  });

  it('does nothing for a report by POST, which is a read', async () => {
    const { gateway, key } = await withTeam();
    const json = { advertiserId: 1, dateFrom: '2026-11-01', dateTo: '2026-11-02' };
    for (const dateTo of ['2026-11-02', '2026-11-03']) {
      const reply = await gateway.call('/api/v1/report/campaigns/get', {
        method: 'POST',
        key,
        json: { ...json, dateTo },
        headers: { 'idempotency-key': 'k' },
      });
      expect([reply.status, reply.headers['idempotency-replayed']]).toEqual([200, undefined]);
    }
  });

  it("does not keep the platform's token", async () => {
    const { platform, gateway, post } = await open(sends('placeholder'));
    platform.answer(sends(`{"echo":${JSON.stringify(platform.token)}}`, {}, 201));
    await post();
    const again = await post();
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.text).not.toContain(platform.token);
    expect(again.text).not.toContain(JSON.stringify(platform.token).slice(1, -1));
    expect(gateway.logText).not.toContain('order-7');
  });
});

it('a repeat with other white space and another order of members is the same request, another content type or if-match is not', async () => {
  const { gateway, key, platform } = await open(CREATED);
  const send = (body: string, headers: Readonly<Record<string, string>> = {}) =>
    gateway.call(CREATE, {
      method: 'POST',
      key,
      body,
      headers: { 'idempotency-key': 'spelt', 'content-type': 'application/json', ...headers },
    });
  expect((await send('{"userId":1,"x":{"a":1.0,"b":[1,2]}}')).status).toBe(201);
  const again = await send('{ "x": {"b": [1, 2],\n "a": 1.0}, "userId" : 1 }');
  expect([again.status, again.headers['idempotency-replayed']]).toEqual([201, 'true']);
  for (const body of ['{"userId":1,"x":{"a":1.0,"b":[2,1]}}', '{"userId":1}'])
    expect((await send(body)).status).toBe(422);
  const first = '{"userId":1,"x":{"a":1.0,"b":[1,2]}}';
  expect((await send(first, { 'if-match': '"v2"' })).status).toBe(422);
  expect((await send(first, { 'content-type': 'application/json; charset=utf-8' })).status).toBe(422);
  expect(platform.requests).toHaveLength(1);
});

describe('where the store has no room', () => {
  const noRoom = () => new StoreUnavailable('documents are full', 'no-room');

  it('for an answer, the write is done, and a repeat is told that the answer is not kept', async () => {
    const wrapStore = (store: Store): Store => ({
      ...store,
      documents: {
        create: store.documents.create.bind(store.documents),
        get: store.documents.get.bind(store.documents),
        async replace(key, before, after, ttlMs) {
          if (after?.includes('"answered"')) throw noRoom();
          return store.documents.replace(key, before, after, ttlMs);
        },
      },
    });
    const { platform, post } = await open(CREATED, { wrapStore });
    expect((await post()).status).toBe(201);
    const repeat = await post();
    expect(outcomeOf(repeat)).toBe('409 idempotency_in_flight');
    expect(repeat.text).toContain('no room left to keep the answer');
    expect(platform.requests).toHaveLength(1);
  });

  it('for the key itself, the platform is not asked, and the caller is told what to do', async () => {
    const wrapStore = (store: Store): Store => ({
      ...store,
      documents: { ...store.documents, create: () => Promise.reject(noRoom()) },
    });
    const { platform, post } = await open(CREATED, { wrapStore });
    const refused = await post();
    expect(outcomeOf(refused)).toBe('503 not_ready');
    expect(refused.text).toContain('redis.idempotencyMaxBytes');
    expect(platform.requests).toHaveLength(0);
  });
});
