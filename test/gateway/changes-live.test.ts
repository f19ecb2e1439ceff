/** `GET /gateway/v1/changes` with `live`: readers that wait for changes. */
import { describe, expect, it, vi } from 'vitest';
import { encodeEntry } from '../../src/reports/feed/entry.js';
import type { FeedPage } from '../../src/store/changes-port.js';
import { type Store, StoreUnavailable } from '../../src/store/port.js';
import { createMemoryServer } from '../support/memory/memory-store.js';
import type { SimulatedOptions } from '../support/start-gateway.js';
import { createTestClock, HOUR, SECOND } from '../support/test-clock.js';
import { type Control, eventsOf, type LiveScene, liveScene, placeIn } from './changes-live-scene.js';
import { type FeedMessage, kindsIn, messagesIn } from './changes-scene.js';
import { BY_DATE } from './history-scene.js';

const OF_2 = BY_DATE.replace('advertiserId=1', 'advertiserId=2');
const FIRST = ['first 2026-11-17', 'first 2026-11-18', 'first 2026-11-19'];

const messages = async (response: Response) => {
  expect(response.status).toBe(200);
  return (await response.json()) as FeedMessage[];
};
const codeOf = async (response: Response) =>
  `${response.status} ${((await response.json()) as { code: string }).code}`;

/** A reader that waits from now on. */
async function poller(scene: LiveScene, query = '', key = scene.key) {
  const before = scene.waiting();
  const answer = scene.live(`offset=${await scene.now()}&live=long-poll${query}`, key);
  await scene.untilWaiting(before + 1);
  return { answer };
}

describe('a long poll', () => {
  it('is answered with the changes that come while it waits', async () => {
    const scene = await liveScene();
    const offset = await scene.now();
    const answer = scene.live(`offset=${offset}&live=long-poll`);
    await scene.untilWaiting();
    await scene.ask(BY_DATE);
    const response = await answer;
    expect(kindsIn(await messages(response))).toEqual(FIRST);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'private, max-age=0',
      'stream-up-to-date': 'true',
      'stream-cursor': expect.stringMatching(/^\d+$/),
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(response.headers.get('etag')).toBeNull();
    expect(placeIn(response).next).toBe(await scene.now());
    expect(scene.waiting()).toBe(0);
  });

  it('is answered at once where there are changes, and waits from the end for `now`', async () => {
    const scene = await liveScene();
    const offset = await scene.now();
    await scene.ask(BY_DATE);
    expect(kindsIn(await messages(await scene.live(`offset=${offset}&live=long-poll`)))).toEqual(FIRST);
    const answer = scene.live('offset=now&live=long-poll');
    await scene.untilWaiting();
    await scene.restated(BY_DATE);
    expect(kindsIn(await messages(await answer))).toEqual(['restated 2026-11-18']);
  });

  it('is answered with 204 and all headers of the stream after 30 seconds', async () => {
    const scene = await liveScene();
    const offset = await scene.now();
    const answer = scene.live(`offset=${offset}&live=long-poll`);
    await scene.untilWaiting();
    await scene.pass(29 * SECOND);
    expect(scene.waiting()).toBe(1);
    await scene.pass(SECOND);
    const response = await answer;
    expect([response.status, await response.text()]).toEqual([204, '']);
    expect(placeIn(response)).toEqual({ next: offset, isUpToDate: true, cursor: expect.any(Number) });
    expect(response.headers.get('cache-control')).toBe('private, max-age=0');
  });

  it('has a cursor greater than the one sent, and at least that of the time', async () => {
    const scene = await liveScene();
    await scene.ask(BY_DATE);
    const cursorAfter = async (sent = '') =>
      placeIn(await scene.live(`offset=-1&live=long-poll${sent}`)).cursor;
    const ofNow = await cursorAfter();
    expect(ofNow).toBeGreaterThan(0);
    expect(await cursorAfter(`&cursor=${ofNow}`)).toBeGreaterThan(ofNow);
    expect(await cursorAfter(`&cursor=${ofNow + 5000}`)).toBe(ofNow + 5001);
    expect(await cursorAfter('&cursor=1')).toBe(ofNow);
    scene.gateway.clock.advance(HOUR);
    expect(await cursorAfter(`&cursor=${ofNow}`)).toBe(ofNow + 180);
  });

  it('is not woken by a change that its filter does not take, and its 204 is past that change', async () => {
    const scene = await liveScene();
    const { answer: other } = await poller(scene, '&advertiserId=2');
    const offset = await scene.now();
    const read = vi.spyOn(scene.gateway.services.reporting.feed, 'readTail');
    await scene.ask(BY_DATE);
    await scene.looks();
    expect([scene.waiting(), read.mock.calls]).toEqual([1, []]);
    await scene.pass(30 * SECOND);
    const response = await other;
    expect(response.status).toBe(204);
    expect([placeIn(response).next > offset, placeIn(response).next]).toEqual([true, await scene.now()]);
  });

  it('reads on after the changes that were not for it, also where the feed has trimmed them meanwhile', async () => {
    const scene = await liveScene();
    const { answer } = await poller(scene, '&advertiserId=2');
    const { changes } = scene.gateway.store;
    for (let n = 0; n < 30; n += 1) await changes.append({ text: `g nobody ${n} +1`, count: 100 });
    await scene.looks();
    await changes.trim(1000);
    const read = vi.spyOn(scene.gateway.services.reporting.feed, 'read');
    await scene.ask(OF_2);
    const told = await messages(await answer);
    expect(told.map(({ value }) => value?.advertiserId)).toEqual([2, 2, 2]);
    expect(read).not.toHaveBeenCalled();
  });

  it('is charged to the team only if it has messages, and never counts as a concurrent request', async () => {
    const scene = await liveScene();
    const limits = { requestsPerMinute: 2, maxConcurrent: 1 };
    const key = await scene.gateway.addTeam({ id: 'small', limits });
    for (let n = 0; n < 5; n += 1)
      expect((await scene.feed(`offset=${await scene.now()}`, { key })).text).toBe('[]');
    const { answer } = await poller(scene, '', key);
    // Which takes the team's one place, and the first of two requests.
    expect((await scene.gateway.report(key, BY_DATE)).status).toBe(200);
    expect(kindsIn(await messages(await answer))).toEqual(FIRST);
    const refused = await scene.live('offset=now&live=long-poll', key);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await codeOf(refused)).toBe('429 rate_limited');
  });

  it('goes on waiting while the store is away, and is answered when it is back', async () => {
    const { state, options } = brokenFeed();
    const scene = await liveScene(options);
    const { answer } = await poller(scene);
    state.isAway = true;
    await expect.poll(() => state.refused).toBeGreaterThan(2);
    expect(scene.waiting()).toBe(1);
    state.isAway = false;
    await scene.ask(BY_DATE);
    expect(kindsIn(await messages(await answer))).toEqual(FIRST);
  });

  it('is answered with 410 when the feed is emptied while it waits', async () => {
    const { state, options } = brokenFeed();
    const scene = await liveScene(options);
    await scene.ask(BY_DATE);
    const { answer } = await poller(scene);
    state.other = createMemoryServer({ clock: createTestClock(), logger: scene.gateway.services.log.logger });
    expect(await codeOf(await answer)).toBe('410 cursor_too_old');
  });

  it('is answered with 410 when the feed loses its end while it waits, whatever comes in its place', async () => {
    const { state, options } = brokenFeed();
    const scene = await liveScene(options);
    await scene.ask(BY_DATE);
    const { answer } = await poller(scene);
    state.isReplaced = true;
    expect(await codeOf(await answer)).toBe('410 cursor_too_old');
  });
});

describe('server-sent events of the feed', () => {
  it('are what is there, what comes, a comment each 15 seconds, and end after 60', async () => {
    const scene = await liveScene();
    const offset = await scene.now();
    await scene.ask(BY_DATE);
    const response = await scene.live(`offset=${offset}&live=sse`);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    expect(response.headers.get('content-encoding')).toBeNull();
    const sse = eventsOf(response);
    const [data, control] = await sse.first(2);
    expect([data?.type, control?.type]).toEqual(['data', 'control']);
    expect(kindsIn(data?.data as FeedMessage[])).toEqual(FIRST);
    const first = control?.data as Control;
    expect(first).toMatchObject({ streamNextOffset: await scene.now(), upToDate: true });
    await scene.untilWaiting();

    await scene.restated(BY_DATE);
    const [, , change, place] = await sse.first(4);
    expect(kindsIn(change?.data as FeedMessage[])).toEqual(['restated 2026-11-18']);
    const second = place?.data as Control;
    expect(second.streamNextOffset > first.streamNextOffset).toBe(true);
    expect(Number(second.streamCursor)).toBeGreaterThan(Number(first.streamCursor));

    for (let count = 5; count < 9; count += 1) {
      await scene.untilWaiting();
      await scene.pass(15 * SECOND);
      expect((await sse.first(count)).slice(4).map(({ type }) => type)).toEqual(
        Array.from({ length: count - 4 }, () => 'comment'),
      );
    }
    await sse.over;
    expect(scene.waiting()).toBe(0);
  });

  it('begin with a control event that is up to date for `now`, and tell what was looked at with the next comment', async () => {
    const scene = await liveScene();
    await scene.ask(BY_DATE);
    const sse = eventsOf(await scene.live('offset=now&live=sse&advertiserId=1'));
    expect(await sse.first(1)).toEqual([
      {
        type: 'control',
        data: expect.objectContaining({ upToDate: true, streamNextOffset: await scene.now() }),
      },
    ]);
    await scene.untilWaiting();
    await scene.ask(OF_2);
    await scene.looks();
    expect(sse.events()).toHaveLength(1);
    await scene.pass(15 * SECOND);
    const [, second] = await sse.first(2);
    expect(second).toMatchObject({ type: 'control', data: { streamNextOffset: await scene.now() } });
  });

  it('are not composed for a reader that does not read them', async () => {
    const scene = await liveScene();
    await scene.ask(BY_DATE);
    const { feed } = scene.gateway.services.reporting;
    const next = { ...(await feed.newest()).next };
    let composed = 0;
    const large = `[${' '.repeat(1_048_576)}]`;
    vi.spyOn(feed, 'readTail').mockResolvedValue(null);
    vi.spyOn(feed, 'read').mockImplementation(async () => {
      composed += 1;
      return { body: large, count: 1, next, isUpToDate: false, sinceMs: 0 };
    });
    await scene.deaf('offset=-1&live=sse');
    // Buffers of the system take some of them.
    await expect.poll(() => composed).toBeGreaterThan(1);
    for (let turn = 0; turn < 20; turn += 1) await scene.feed('offset=now');
    const soFar = composed;
    for (let turn = 0; turn < 200; turn += 1) await scene.feed('offset=now');
    expect(composed).toBeLessThan(64);
    expect(composed).toBe(soFar);
  });
});

describe('the rights of readers that wait', () => {
  it('are looked at again once their team changes: with its new list, or refused', async () => {
    const scene = await liveScene();
    const key = await scene.gateway.addTeam({ id: 'growth', advertisers: [1, 2] });
    const both = await poller(scene, '&advertiserId=1&advertiserId=2', key);
    const any = await poller(scene, '', key);
    await scene.gateway.manage('PATCH', '/teams/growth', { advertisers: [1] });
    expect(await codeOf(await both.answer)).toBe('403 advertiser_forbidden');
    const response = await any.answer;
    // The leader tells the team of its list meanwhile, or a little later.
    expect([200, 204]).toContain(response.status);
    await scene.ask(OF_2);
    await scene.ask(BY_DATE);
    const { messages: told } = await scene.follow(placeIn(response).next, '', { key });
    const days = told.filter(({ type }) => type === 'day');
    expect(days.map(({ value }) => value?.advertiserId)).toEqual([1, 1, 1]);
  });

  it.each([
    ['a revoked key', '401 revoked_api_key', revoke],
    ['a team without the scope', '403 scope_missing', patch({ scopes: ['platform:read'] })],
    ['a disabled team', '403 team_disabled', patch({ disabled: true })],
    ['a team of other addresses', '403 ip_forbidden', patch({ ipAllow: ['10.1.2.3/32'] })],
  ])('end with %s: %s', async (_what, code, change) => {
    const scene = await liveScene();
    const key = await scene.gateway.addTeam({ id: 'growth' });
    const { answer } = await poller(scene, '', key);
    const sse = eventsOf(await scene.live('offset=now&live=sse', key));
    await scene.untilWaiting(2);
    await change(scene);
    expect(await codeOf(await answer)).toBe(code);
    await sse.over;
    expect(sse.events().map(({ type }) => type)).toEqual(['control']);
    expect(await codeOf(await scene.live('offset=now&live=sse', key))).toBe(code);
  });

  it('are not ended by a change of another team', async () => {
    const scene = await liveScene();
    await scene.gateway.addTeam({ id: 'other' });
    const { answer } = await poller(scene);
    await scene.gateway.manage('PATCH', '/teams/other', { disabled: true });
    await scene.looks();
    expect(scene.waiting()).toBe(1);
    await scene.ask(BY_DATE);
    expect((await answer).status).toBe(200);
  });

  it('end when the key expires, without any change', async () => {
    const scene = await liveScene();
    await scene.gateway.manage('POST', '/teams', { id: 'brief' });
    const expiresAt = new Date(scene.gateway.clock.now() + HOUR).toISOString();
    const { key } = await scene.gateway.manage('POST', '/teams/brief/keys', { expiresAt });
    const { answer } = await poller(scene, '', String(key));
    scene.gateway.clock.advance(2 * HOUR);
    expect(await codeOf(await answer)).toBe('401 expired_api_key');
  });

  it('let a team alone know what it was granted', async () => {
    const scene = await liveScene();
    const key = await scene.gateway.addTeam({ id: 'growth' });
    const [own, other] = [await poller(scene), await poller(scene, '', key)];
    const grant = {
      type: 'grants',
      team: 'growth',
      at: scene.gateway.clock.now(),
      given: [9],
      taken: [7],
    } as const;
    await scene.gateway.store.changes.append(encodeEntry(grant));
    const told = await messages(await other.answer);
    expect(told).toMatchObject([
      { type: 'grant', key: '7', value: { advertiserId: 7 }, headers: { operation: 'delete' } },
      { type: 'grant', key: '9', value: { advertiserId: 9 }, headers: { operation: 'insert' } },
    ]);
    expect(scene.waiting()).toBe(1);
    await scene.pass(30 * SECOND);
    expect((await own.answer).status).toBe(204);
    expect(messagesIn(await scene.feed('offset=-1')).filter(({ type }) => type === 'grant')).toEqual([]);
  });

  it('end what was made of rows before they were erased', async () => {
    const scene = await liveScene();
    const offset = await scene.now();
    const { answer } = await poller(scene);
    await scene.ask(BY_DATE);
    const [day] = await messages(await answer);
    expect(day?.value?.totals).toBeDefined();
    await scene.gateway.manage('POST', '/history/erase', { advertiserId: 1 });
    const again = await messages(await scene.live(`offset=${offset}&live=long-poll`));
    for (const { value } of again) expect(value?.totals).toBeUndefined();
  });
});

describe('readers that wait', () => {
  it('are at most 100 a team; more are told to come back in 5 seconds, and one that leaves makes room', async () => {
    const scene = await liveScene();
    const leaving = new AbortController();
    const offset = await scene.now();
    const leaves = scene.live(`offset=${offset}&live=sse`, scene.key, leaving.signal);
    const left = leaves.then(eventsOf);
    for (let n = 1; n < 100; n += 1) void scene.live(`offset=${offset}&live=long-poll`).catch(() => {});
    await scene.untilWaiting(100);
    for (const live of ['sse', 'long-poll']) {
      const refused = await scene.live(`offset=now&live=${live}`);
      expect([refused.headers.get('retry-after'), await codeOf(refused)]).toEqual(['5', '429 rate_limited']);
    }
    const key = await scene.gateway.addTeam({ id: 'other' });
    void scene.live(`offset=${offset}&live=long-poll`, key).catch(() => {});
    await scene.untilWaiting(101);
    leaving.abort();
    await expect((await left).over).rejects.toThrow(/abort/i);
    await scene.untilWaiting(100);
    void scene.live(`offset=${offset}&live=long-poll`).catch(() => {});
    await scene.untilWaiting(101);
    scene.gateway.data.server.closeAllConnections();
    await scene.untilWaiting(0);
    for (let n = 0; n < 100; n += 1) void scene.live(`offset=${offset}&live=long-poll`).catch(() => {});
    await scene.untilWaiting(100);
  });

  it('are answered when the process stops, which then refuses those that would wait', async () => {
    const state = { isStopping: false };
    const scene = await liveScene({ stopping: () => state.isStopping });
    const { answer } = await poller(scene);
    const sse = eventsOf(await scene.live('offset=now&live=sse'));
    await scene.untilWaiting(2);
    state.isStopping = true;
    expect((await answer).status).toBe(204);
    await sse.over;
    for (const live of ['sse', 'long-poll']) {
      const refused = await scene.live(`offset=now&live=${live}`);
      expect([refused.headers.get('retry-after'), await codeOf(refused)]).toEqual(['1', '503 not_ready']);
    }
    expect((await scene.live('offset=now')).status).toBe(200);
  });

  it('are heard again after the process had stopped looking, as nobody waited', async () => {
    const scene = await liveScene();
    const stop = vi.spyOn(scene.gateway.services.reporting.feed.tail, 'stop');
    const offset = await scene.now();
    const first = await poller(scene);
    await scene.ask(BY_DATE);
    expect(kindsIn(await messages(await first.answer))).toEqual(FIRST);
    await expect.poll(() => stop.mock.calls.length).toBe(1);
    const read = vi.spyOn(scene.gateway.store.changes, 'read');
    await scene.restated(BY_DATE);
    expect(read.mock.calls).toEqual([]);
    const missed = await messages(await scene.live(`offset=${offset}&live=long-poll`));
    expect(kindsIn(missed)).toEqual([...FIRST, 'restated 2026-11-18']);
    const second = await poller(scene);
    await scene.restated(BY_DATE);
    expect(kindsIn(await messages(await second.answer))).toEqual(['restated 2026-11-18']);
  });

  it('cost no command of the store beyond one a second for all of them', async () => {
    const scene = await liveScene();
    const offset = await scene.now();
    for (let n = 0; n < 50; n += 1) void scene.live(`offset=${offset}&live=long-poll`).catch(() => {});
    await scene.untilWaiting(50);
    const { tail, newest } = scene.gateway.services.reporting.feed;
    const tick = vi.fn();
    const { position } = (await newest()).next;
    const leave = tail.wait({ position, takes: () => false, wake() {}, tick });
    const read = vi.spyOn(scene.gateway.store.changes, 'read');
    await expect.poll(() => tick.mock.calls.length).toBeGreaterThan(5);
    leave();
    expect(read.mock.calls.length).toBeLessThanOrEqual(tick.mock.calls.length + 1);
  });
});

function patch(change: object) {
  return async ({ gateway }: LiveScene) => void (await gateway.manage('PATCH', '/teams/growth', change));
}

async function revoke({ gateway }: LiveScene): Promise<void> {
  const { keys } = (await gateway.manage('GET', '/teams/growth/keys')) as { keys: { id: string }[] };
  for (const { id } of keys) await gateway.manage('DELETE', `/keys/${id}`);
}

/** A store whose feed fails, is replaced by an empty one, or has another newest entry. */
function brokenFeed() {
  const state = {
    isAway: false,
    isReplaced: false,
    other: null as ReturnType<typeof createMemoryServer> | null,
    refused: 0,
  };
  const wrapStore = (store: Store): Store => {
    const { changes } = store;
    const feed = () => {
      if (state.isAway) {
        state.refused += 1;
        throw new StoreUnavailable('away');
      }
      return state.other?.handle().changes ?? changes;
    };
    const shown = (page: FeedPage): FeedPage => {
      const last = page.entries.at(-1);
      if (!state.isReplaced || last === undefined) return page;
      return { ...page, entries: [...page.entries.slice(0, -1), { ...last, text: 'g nobody 0 +1' }] };
    };
    const own: Store['changes'] = Object.assign(Object.create(changes) as Store['changes'], {
      read: async (from: string, limit: number) => shown(await feed().read(from, limit)),
      newest: async () => shown(await feed().newest()),
    });
    return Object.assign(Object.create(store) as Store, { changes: own });
  };
  return { state, options: { wrapStore } satisfies SimulatedOptions };
}
