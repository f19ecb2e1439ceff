/** Callers who want the same of the platform at the same time: who asks it, how often, and what the others are told. */
import type { IncomingMessage } from 'node:http';
import { expect, it, vi } from 'vitest';
import { type RegistryStore, type Store, StoreUnavailable } from '../../../src/store/port.js';
import { startDayPlatform } from '../../engine/day-platform.js';
import { sends, startHeldPlatform, startRawPlatform } from '../../support/raw-platform.js';
import { openScene } from '../../support/scene.js';
import { openEmbedded } from '../../support/shared-registry.js';
import { gatewayAt, outcomeOf, reportIn } from '../../support/start-gateway.js';
import { createTestClock, HOUR } from '../../support/test-clock.js';
import { waitFor } from '../../support/wait-for.js';
import { ALWAYS, byDay, rowsPerDay } from './by-day.js';
import { watchLocks } from './held-locks.js';

const ROWS = sends('{"data":[{"impressions":7}]}');
const QUERY = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const of = (advertiser: number) => QUERY.replace('Id=1', `Id=${advertiser}`);

/** What comes to it while it is closed goes on when it is opened. */
function createGate(isClosed: boolean) {
  const held: (() => void)[] = [];
  let isOpen = !isClosed;
  return {
    held,
    close() {
      isOpen = false;
    },
    open() {
      isOpen = true;
      for (const go of held.splice(0)) go();
    },
    pass: () => (isOpen ? Promise.resolve() : new Promise<void>((resolve) => held.push(resolve))),
  };
}

it('callers of one report take one place in the line for the platform', async () => {
  const { platform, gateway, key } = await openScene(await startHeldPlatform(ROWS), {
    config: { platform: { maxConcurrent: 1, maxQueued: 2, retry: { attempts: 0 } } },
  });
  const busy = gateway.report(key, of(1));
  await platform.arrived(1);
  const same = Array.from({ length: 50 }, () => gateway.report(key, of(2)));
  await expect.poll(() => gateway.services.reporting.waiting()).toBe(49);
  const another = gateway.report(key, of(3));
  await expect.poll(() => gateway.services.budget.queued).toBe(2);
  platform.release();
  const replies = await Promise.all([busy, another, ...same]);
  expect(new Set(replies.map(outcomeOf))).toEqual(new Set(['200']));
  expect(platform.requests).toHaveLength(3);
});

/** Callers of two teams, all of whom wait for one call that is going to fail. */
async function manyWaiting() {
  let drawn = 0;
  // Spread evenly: nobody comes back together with another by chance.
  vi.spyOn(Math, 'random').mockImplementation(() => (drawn++ % 50) / 50);
  const { platform, gateway, key } = await openScene(await startHeldPlatform(sends('{}', {}, 503)), {
    config: {
      platform: { retry: { attempts: 2, baseMs: 400 }, circuit: { failures: 1000, openSeconds: 1 } },
    },
  });
  const keys = [key, await gateway.addTeam()];
  const calls = Array.from({ length: 50 }, (_, at) => gateway.report(keys[at % 2] as string, QUERY));
  await platform.arrived(1);
  await expect.poll(() => gateway.services.reporting.waiting()).toBe(49);
  return { platform, calls };
}

it('callers whose one call failed try again together, as often as one of them would', async () => {
  const { platform, calls } = await manyWaiting();
  platform.release();
  expect(new Set((await Promise.all(calls)).map(outcomeOf))).toEqual(new Set(['502 upstream_error']));
  expect(platform.requests).toHaveLength(3);
});

it('what the second try of one caller brings is for all, also when it may not be kept', async () => {
  const { platform, calls } = await manyWaiting();
  platform.answer(sends('{"data":[{"impressions":7}]}', { 'cache-control': 'no-store' }));
  platform.release();
  const replies = await Promise.all(calls);
  expect(new Set(replies.map((reply) => reportIn(reply).data.length))).toEqual(new Set([1]));
  expect(platform.requests).toHaveLength(2);
});

it('a question is refused for its own period, not for one that somebody else asked for', async () => {
  const platform = await startHeldPlatform((request, response) => {
    const isShort = request.url?.includes('dateFrom=2026-11-10');
    const refusal = sends('{"message":"The period is too long."}', {}, 422);
    (isShort ? sends('{"data":[{"date":"2026-11-10","impressions":7}]}') : refusal)(request, response);
  });
  const { gateway, key } = await openScene(platform, { config: ALWAYS });
  const long = gateway.report(key, byDay('2026-08-20', '2026-11-10'));
  await platform.arrived(1);
  const same = gateway.report(key, byDay('2026-08-20', '2026-11-10'));
  const short = gateway.report(key, byDay('2026-11-10', '2026-11-10'));
  await platform.arrived(1);
  platform.release();
  expect(reportIn(await short).data).toEqual([{ date: '2026-11-10', impressions: 7 }]);
  const refused = ['422 upstream_rejected', '422 upstream_rejected'];
  expect((await Promise.all([long, same])).map(outcomeOf)).toEqual(refused);
  // Whoever asked for the same has the same refusal.
  expect(platform.requests).toHaveLength(2);
});

it('a call stops before the days that another call has under way', async () => {
  const platform = await startDayPlatform();
  const gateway = await gatewayAt(platform, {
    config: { report: { crossCheckEvery: 0, ...ALWAYS.report } },
  });
  const key = await gateway.addTeam();
  platform.hold(() => true);
  const middle = gateway.report(key, byDay('2026-11-09', '2026-11-09'));
  await platform.arrived(1);
  const around = gateway.report(key, byDay('2026-11-06', '2026-11-10'));
  await platform.arrived(2);
  platform.release();
  expect(reportIn(await middle).meta.rowCount).toBe(1);
  expect(reportIn(await around).meta.rowCount).toBe(5);
  expect(platform.calls.map(({ from, to }) => `${from}/${to}`)).toEqual([
    '2026-11-09/2026-11-09',
    '2026-11-10/2026-11-10',
    '2026-11-06/2026-11-08',
  ]);
});

it('a call goes out although the message about locks that were given back does not', async () => {
  const locks = watchLocks();
  const told = createGate(true);
  const wrapStore = (store: Store): Store => {
    const watched = locks.wrapStore(store);
    async function release(...[keys, owner, news]: Parameters<Store['leases']['release']>) {
      await watched.leases.release(keys, owner);
      if (news === undefined) return;
      await told.pass();
      await store.bus.publish(news.channel, news.message);
    }
    return { ...watched, leases: { ...watched.leases, release } };
  };
  const config = { ...ALWAYS, platform: { maxConcurrent: 1 } };
  const held = await startHeldPlatform(rowsPerDay(() => 1));
  const { platform, gateway, key } = await openScene(held, { config, wrapStore });
  const first = gateway.report(key, byDay('2026-11-01', '2026-11-03'));
  await platform.arrived(1);
  const between = gateway.report(key, 'advertiserId=2&dateFrom=2026-11-01&dateTo=2026-11-03');
  await expect.poll(() => gateway.services.budget.queued).toBe(1);
  const longer = gateway.report(key, byDay('2026-11-01', '2026-11-06'));
  await expect.poll(() => gateway.services.budget.queued).toBe(2);
  platform.release();
  platform.hold();
  await platform.arrived(2);
  // The first report's days are kept, and its locks are free, when the longer one comes to its slot.
  await expect.poll(() => locks.held.size).toBe(1);
  platform.release();
  await expect.poll(() => platform.requests.length).toBe(3);
  told.open();
  expect((await Promise.all([first, between, longer])).map(outcomeOf)).toEqual(['200', '200', '200']);
});

it('a lock that is granted when its report was given long ago is let go: whoever asks next is not held up', async () => {
  const platform = await startRawPlatform(ROWS);
  const clock = createTestClock();
  const sharedStore = await openEmbedded(clock);
  const config = { platform: { timeoutMs: 2000, maxConcurrent: 1, retry: { attempts: 0 } } };
  const told = createGate(true);
  const late = { claims: 0, granted: 0 };
  /** Grants the locks of fetches as the store does, but tells of it only when the gate opens. */
  const wrapStore = (store: Store): Store => ({
    ...store,
    days: {
      ...store.days,
      async claim(...args) {
        // At the start the clocks are compared.
        if (args[1].names.length === 0) return await store.days.claim(...args);
        late.claims += 1;
        const claimed = await store.days.claim(...args);
        await told.pass();
        late.granted += 1;
        return claimed;
      },
    },
  });
  const hasty = await gatewayAt(platform, { clock, sharedStore, wrapStore, config });
  const other = await gatewayAt(platform, { clock, sharedStore, config });
  const key = await hasty.addTeam();
  await other.services.registry.refresh();
  // The store is slow, which holds up nobody.
  expect(reportIn(await hasty.report(key, QUERY)).data).toEqual([{ impressions: 7 }]);
  expect([late.claims, late.granted, platform.requests.length]).toEqual([1, 0, 1]);
  told.open();
  await expect.poll(() => late.granted).toBe(1);
  await hasty.services.settled();
  const anew = { headers: { 'cache-control': 'no-cache' } };
  expect(outcomeOf(await other.report(key, QUERY, anew))).toBe('200');
  expect(reportIn(await hasty.report(key, QUERY)).data).toEqual([{ impressions: 7 }]);
  expect(platform.requests).toHaveLength(2);
});

it.each([
  ['of the same team', 0],
  ['of another team', 1],
])('a caller %s who asks with the old token meanwhile spoils nobody else', async (_whose, at) => {
  const [commits, refusals] = [createGate(false), createGate(true)];
  const OLD = 'a-token-that-is-refused-soon';
  const usesOld = ({ headers }: IncomingMessage) => headers.authorization === `Bearer ${OLD}`;
  const refusal = sends('{"message":"Unauthenticated."}', {}, 401);
  // It refuses the active token, the second time not at once; the gateway would go back to the previous one.
  const platform = await startRawPlatform((request, response) => {
    if (!usesOld(request)) return ROWS(request, response);
    if (platform.requests.filter(usesOld).length === 1) return refusal(request, response);
    void refusals.pass().then(() => refusal(request, response));
  });
  const hold =
    (registry: RegistryStore): RegistryStore['commit'] =>
    async (change) => {
      await commits.pass();
      return registry.commit(change);
    };
  const { gateway, key } = await openScene(platform, {
    wrapStore: (store) => ({ ...store, registry: { ...store.registry, commit: hold(store.registry) } }),
  });
  const keys = [key, await gateway.addTeam()];
  await gateway.manage('POST', '/token/rotate', { token: OLD, force: true });
  commits.close();
  const first = gateway.report(key, QUERY);
  await waitFor('the recovery', () => commits.held.length > 0);
  const second = gateway.report(keys[at] as string, QUERY);
  await waitFor('a call with the old token', () => refusals.held.length > 0);
  commits.open();
  await expect.poll(() => gateway.services.reporting.waiting()).toBe(1);
  refusals.open();
  expect([outcomeOf(await first), outcomeOf(await second)]).toEqual(['200', '200']);
});

it('no-cache costs one call, whatever the clock does', async () => {
  const { platform, gateway, key } = await openScene(await startHeldPlatform(ROWS), {
    config: { platform: { maxConcurrent: 1, timeoutMs: 2_000 } },
  });
  const other = gateway.report(key, of(2));
  await platform.arrived(1);
  // It waits for its turn while the clock is set.
  const asked = gateway.report(key, of(1), { headers: { 'cache-control': 'no-cache' } });
  await platform.arrived(1);
  gateway.clock.advance(-60_000);
  platform.release();
  expect((await Promise.all([other, asked])).map(outcomeOf)).toEqual(['200', '200']);
  expect(platform.requests).toHaveLength(2);
});

it('a refusal of the platform is not given again for an hour after the clock was set back an hour', async () => {
  const { gateway, count } = await openScene(sends('{"message":"no such report"}', {}, 404));
  const refused = expect.objectContaining({ status: 404 });
  expect(await count(QUERY)).toEqual({ reply: refused, calls: 1 });
  expect(await count(QUERY)).toEqual({ reply: refused, calls: 0 });
  gateway.clock.advance(-HOUR);
  expect(await count(QUERY)).toEqual({ reply: refused, calls: 1 });
});

it('takes its turns like any other, and leaves the turns of others as they are', async () => {
  const platform = await startHeldPlatform(ROWS);
  const gateway = await gatewayAt(platform, { config: { platform: { maxConcurrent: 1 } } });
  const keys: string[] = [];
  for (const id of ['constructor', 'growth', 'small']) keys.push(await gateway.addTeam({ id }));
  const ask = (team: number, advertiser: number) => gateway.report(keys[team] as string, of(advertiser));
  platform.release();
  expect(outcomeOf(await ask(0, 28))).toBe('200');
  platform.hold();
  const answers = [ask(0, 10)];
  await platform.arrived(2);
  const behind = [
    [1, 11],
    [1, 12],
    [1, 13],
    [2, 14],
  ] as const;
  for (const [at, [team, advertiser]] of behind.entries()) {
    answers.push(ask(team, advertiser));
    await expect.poll(() => gateway.services.budget.queued).toBe(at + 1);
  }
  platform.release();
  expect((await Promise.all(answers)).map(outcomeOf)).toEqual(Array(5).fill('200'));
  const asked = platform.requests.map(({ url }) => /advertiserId=(\d+)/.exec(url ?? '')?.[1]);
  expect(asked).toEqual(['28', '10', '11', '14', '12', '13']);
});

it('days that another replica fetched before the lock was granted, and whose parts cannot be read then, are read once more', async () => {
  const platform = await startRawPlatform(rowsPerDay(() => 2));
  const clock = createTestClock();
  const sharedStore = await openEmbedded(clock);
  const other = await gatewayAt(platform, { clock, sharedStore, config: ALWAYS });
  const key = await other.addTeam();
  const query = byDay('2026-11-01', '2026-11-03');
  let isClaimed = false;
  const wrapStore = (store: Store): Store => ({
    ...store,
    days: {
      ...store.days,
      async read(...args) {
        const found = await store.days.read(...args);
        if (platform.requests.length === 0) {
          expect(outcomeOf(await other.report(key, query))).toBe('200');
          await other.services.settled();
        }
        return found;
      },
      async claim(...args) {
        const claimed = await store.days.claim(...args);
        isClaimed = true;
        // As of a month whose parts are too large to come with the claim.
        const withoutParts = [...claimed.changed].map(
          ([month, stored]) => [month, stored && { ...stored, parts: new Map() }] as const,
        );
        return { ...claimed, changed: new Map(withoutParts) };
      },
      async parts(...args) {
        if (isClaimed) throw new StoreUnavailable('too late');
        return await store.days.parts(...args);
      },
    },
  });
  const slow = await gatewayAt(platform, { clock, sharedStore, wrapStore, config: ALWAYS });
  await slow.services.registry.refresh();
  const reply = await slow.report(key, query);
  expect(outcomeOf(reply)).toBe('200');
  expect(reportIn(reply).data).toHaveLength(6);
  expect([isClaimed, platform.requests.length]).toEqual([true, 1]);
});
