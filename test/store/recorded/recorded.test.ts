/** What earlier programs wrote is read by this one: data folders and Redis, with the answers of those programs. */
import { expect, it } from 'vitest';
import { createEmbeddedStore } from '../../../src/store/embedded/embedded-store.js';
import type { Store } from '../../../src/store/port.js';
import { openOnRedis } from '../../support/on-redis.js';
import { startRedis } from '../../support/redis.js';
import { createTestClock, type TestClock } from '../../support/test-clock.js';
import { createTestLog } from '../test-log.js';
import * as scene from './scene.js';

const PREFIX = 'dgw';

const openFolder = (dataDir: string, clock: TestClock): Promise<Store> =>
  createEmbeddedStore({ dataDir, cacheMaxBytes: 64 * 1_048_576, clock, logger: createTestLog() });

interface InFolder extends scene.Recorded {
  readonly files: Readonly<Record<string, string>>;
}
interface InRedis extends scene.Recorded {
  readonly dump: Readonly<Record<string, string>>;
}

/** Of the recordings: `1` of 2026-11-25, `2` of 2026-11-29, with a person, a stop of writes, and charges in Redis. */
const RECORDINGS = ['1', '2'];
/** Months of each recording that lie where they are read no more. */
const OLD_MONTHS: Readonly<Record<string, number>> = { 1: 2 };

/** Removes the history of the earlier program first, where it begins anew: all else is still there. */
async function expectAnswers(
  name: string,
  store: Store,
  opened: scene.Opened,
  recorded: scene.Recorded,
): Promise<void> {
  expect(await store.removeOldLayout(() => false)).toEqual({
    months: OLD_MONTHS[name] ?? 0,
    cacheEntries: 0,
  });
  const now = await scene.answersOf(opened, recorded);
  const { past, later, revisions, ...answers } = recorded.answers;
  const { pins, ...others } = answers as { readonly pins: { readonly data: readonly object[] } };
  // The first program did not note which key made a pin, and stopped no writes.
  const data = name === '1' ? pins.data.map((pin) => ({ ...pin, createdBy: null })) : pins.data;
  expect(now).toEqual({ stops: [], ...others, pins: { ...pins, data } });
  if (recorded.spent !== undefined) expect(await scene.spentOf(opened)).toEqual(recorded.spent);
}

/** Keys that were given out work, one that was revoked does not, and the token is good for a call. */
async function expectAccess({ gateway, simulator }: scene.Opened, { keys }: scene.Recorded): Promise<void> {
  expect((await gateway.call('/gateway/v1/me', { key: keys.revoked })).status).toBe(401);
  if (keys.person !== undefined)
    expect((await gateway.call('/gateway/v1/me', { key: keys.person })).json()).toMatchObject({
      team: { id: 'reader' },
    });
  const asked = await gateway.report(
    keys.reader,
    'advertiserId=2&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-02',
  );
  expect(asked.status, asked.text).toBe(200);
  expect(simulator.calls.length).toBeGreaterThan(0);
}

/** What a new store was filled with, and what is answered of it later. */
async function fillAndAsk(store: Store): Promise<Omit<scene.Recorded, 'spent'> & { spent: unknown }> {
  const clock = createTestClock();
  const provider = await scene.startProvider(clock);
  const opened = await scene.openOn(store, clock, provider.issuer);
  const filled = await scene.fill(opened, provider);
  clock.moveTo(scene.laterClock().now() - createTestClock().now());
  const answers = await scene.answersOf(opened, filled);
  const spent = await scene.spentOf(opened);
  await opened.gateway.close();
  return { ...filled, answers, spent };
}

async function record(name: string): Promise<void> {
  const folder = scene.emptyFolder();
  const embedded = await openFolder(folder, createTestClock());
  const inFolder = await fillAndAsk(embedded);
  await embedded.close();
  scene.writeRecorded(`folder-${name}`, { ...inFolder, files: scene.readFolder(folder) });

  const redis = await startRedis();
  const inRedis = await fillAndAsk(await openOnRedis(redis, PREFIX));
  scene.writeRecorded(`redis-${name}`, { ...inRedis, dump: await scene.dumpRedis(redis.url) });
  await redis.close();
}

const { recording } = scene;
if (recording !== undefined) it('records a data folder and a Redis', () => record(recording));

it.each(RECORDINGS)(
  'data folder %s of an earlier program is read: access, pins, audit, usage and what is spent',
  async (name) => {
    const { files, ...recorded } = scene.readRecorded<InFolder>(`folder-${name}`);
    const folder = scene.emptyFolder();
    await scene.writeFolder(folder, files);
    const clock = scene.laterClock();
    const store = await openFolder(folder, clock);
    const opened = await scene.openOn(store, clock, recorded.issuer);
    await expectAnswers(name, store, opened, recorded);
    const { usage } = await opened.gateway.manage('GET', '/usage?from=2026-11-21&to=2026-11-21');
    expect(usage).toContainEqual(expect.objectContaining({ team: 'writer', requests: 1, upstreamCalls: 1 }));
    // The write that was made is not made again.
    const made = opened.simulator.calls.length;
    const repeated = await scene.spend(opened.gateway, recorded.keys.writer);
    expect([repeated.status, repeated.headers['idempotency-replayed']]).toEqual([201, 'true']);
    expect(opened.simulator.calls.length).toBe(made);
    await expectAccess(opened, recorded);
  },
);

it.each(RECORDINGS)(
  'Redis %s of an earlier program is read: access, pins, audit and what is spent',
  async (name) => {
    const { dump, ...recorded } = scene.readRecorded<InRedis>(`redis-${name}`);
    const redis = await startRedis();
    await scene.restoreRedis(redis.url, dump);
    const clock = scene.laterClock();
    const store = await openOnRedis(redis, PREFIX);
    const opened = await scene.openOn(store, clock, recorded.issuer);
    await expectAnswers(name, store, opened, recorded);
    await expectAccess(opened, recorded);
    await opened.gateway.close();
    await redis.close();
  },
);
