/** What an earlier program wrote is read by this one: a data folder and a Redis, with the answers of that program. */
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
  readonly spent: unknown;
}
interface InRedis extends scene.Recorded {
  readonly dump: Readonly<Record<string, string>>;
}

/** Removes the history of the earlier program first: all else is still there. */
async function expectAnswers(store: Store, opened: scene.Opened, recorded: scene.Recorded): Promise<void> {
  expect(await store.removeOldLayout(() => false)).toEqual({ months: 2, cacheEntries: 0 });
  const { past, later, revisions, ...answers } = recorded.answers;
  const { pins, ...others } = answers as { readonly pins: { readonly data: readonly object[] } };
  // That program did not note which key made a pin.
  const data = pins.data.map((pin) => ({ ...pin, createdBy: null }));
  expect(await scene.answersOf(opened, recorded)).toEqual({ ...others, pins: { ...pins, data } });
}

/** A key that was given out works, one that was revoked does not, and the token is good for a call. */
async function expectAccess({ gateway, simulator }: scene.Opened, { keys }: scene.Recorded): Promise<void> {
  expect((await gateway.call('/gateway/v1/me', { key: keys.revoked })).status).toBe(401);
  const asked = await gateway.report(
    keys.reader,
    'advertiserId=2&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-02',
  );
  expect(asked.status, asked.text).toBe(200);
  expect(simulator.calls.length).toBeGreaterThan(0);
}

async function record(): Promise<void> {
  const folder = scene.emptyFolder();
  const embedded = await openFolder(folder, createTestClock());
  const first = await scene.openOn(embedded, createTestClock());
  const inFolder = await scene.fill(first);
  first.gateway.clock.moveTo(scene.laterClock().now() - createTestClock().now());
  const answers = await scene.answersOf(first, inFolder);
  const spent = await scene.spentOf(first);
  await first.gateway.close();
  await embedded.close();
  scene.writeRecorded('folder', { ...inFolder, answers, spent, files: scene.readFolder(folder) });

  const redis = await startRedis();
  const store = await openOnRedis(redis, PREFIX);
  const second = await scene.openOn(store, createTestClock());
  const inRedis = await scene.fill(second);
  second.gateway.clock.moveTo(scene.laterClock().now() - createTestClock().now());
  const theirs = await scene.answersOf(second, inRedis);
  scene.writeRecorded('redis', { ...inRedis, answers: theirs, dump: await scene.dumpRedis(redis.url) });
  await redis.close();
}

if (scene.isRecording) it('records a data folder and a Redis', record);

it('a data folder of an earlier program is read: access, pins, audit, usage and what is spent', async () => {
  const { files, spent, ...recorded } = scene.readRecorded<InFolder>('folder');
  const folder = scene.emptyFolder();
  await scene.writeFolder(folder, files);
  const clock = scene.laterClock();
  const store = await openFolder(folder, clock);
  const opened = await scene.openOn(store, clock);
  await expectAnswers(store, opened, recorded);
  expect(await scene.spentOf(opened)).toEqual(spent);
  const { usage } = await opened.gateway.manage('GET', '/usage?from=2026-11-21&to=2026-11-21');
  expect(usage).toContainEqual(expect.objectContaining({ team: 'writer', requests: 1, upstreamCalls: 1 }));
  // The write that was made is not made again.
  const made = opened.simulator.calls.length;
  const repeated = await scene.spend(opened.gateway, recorded.keys.writer);
  expect([repeated.status, repeated.headers['idempotency-replayed']]).toEqual([201, 'true']);
  expect(opened.simulator.calls.length).toBe(made);
  await expectAccess(opened, recorded);
});

it('a Redis of an earlier program is read: access, pins and audit', async () => {
  const { dump, ...recorded } = scene.readRecorded<InRedis>('redis');
  const redis = await startRedis();
  await scene.restoreRedis(redis.url, dump);
  const clock = scene.laterClock();
  const store = await openOnRedis(redis, PREFIX);
  const opened = await scene.openOn(store, clock);
  await expectAnswers(store, opened, recorded);
  await expectAccess(opened, recorded);
  await opened.gateway.close();
  await redis.close();
});
