/** The feed of changes in a Redis cluster, where a month and the feed are in different slots. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Cluster } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createClock } from '../../../src/lib/clock.js';
import { FEED_START } from '../../../src/store/changes-port.js';
import { type Store, StoreUnavailable } from '../../../src/store/port.js';
import { connect } from '../../../src/store/redis/connect.js';
import { createKeys, memberOf } from '../../../src/store/redis/keys.js';
import { Link } from '../../../src/store/redis/link.js';
import { createRedisChanges } from '../../../src/store/redis/redis-changes.js';
import { createRedisDays } from '../../../src/store/redis/redis-days.js';
import { createRedisStore } from '../../../src/store/redis/redis-store.js';
import { describeChanges, expectTexts, one, writeNow } from '../conformance-changes.js';
import { PLACE } from '../conformance-days.js';
import { createTestLog } from '../test-log.js';
import { startCluster } from './topologies.js';

let cluster: Awaited<ReturnType<typeof startCluster>>;
let control: Cluster;
const connection = () => ({ cluster: cluster.servers.map(({ port }) => ({ host: '127.0.0.1', port })) });

beforeAll(async () => {
  cluster = await startCluster(3);
  control = new Cluster(connection().cluster);
});

afterAll(async () => {
  control?.disconnect();
  await cluster?.close();
});

const openStore = (prefix: string) =>
  createRedisStore({
    ...{ connection: connection(), prefix, timeoutMs: 20_000, registryTimeoutMs: 20_000 },
    clock: createClock(),
    logger: createTestLog(),
  });

describe('a Redis cluster', () => {
  describeChanges(async () => {
    const prefix = `t-${randomUUID()}`;
    const stores = [await openStore(prefix)];
    return {
      store: stores[0] as Store,
      async another() {
        const store = await openStore(prefix);
        stores.push(store);
        return store;
      },
      elapse: async () => {},
      async close() {
        await Promise.all(stores.map((store) => store.close()));
      },
    };
  });
});

type Before = (script: string) => Promise<void>;

/** A cluster's part of its own. @param before called before each script and command of a writer */
async function openFeed(before: Before = async () => {}) {
  const prefix = `t-${randomUUID()}`;
  const keys = createKeys(prefix);
  const store = await openStore(prefix);
  const client = await connect(connection(), 'test', 20_000);
  const options = { clock: createClock(), logger: createTestLog(), onOutOfMemory: () => {} };
  const link = new Link(client, { ...options, role: 'test', timeoutMs: 20_000 });
  onTestFinished(async () => {
    await Promise.all([store.close(), link.close()]);
  });
  const calls: Pick<Link, 'call' | 'servers' | 'isCluster'> = {
    isCluster: true,
    servers: () => link.servers(),
    async call(name, run) {
      await before(name);
      return await link.call(name, run);
    },
  };
  const { bus } = store;
  const { teller } = createRedisChanges({ link: calls, days: calls }, keys, bus, keys.channel);
  const memory = { latest: [], soon: () => {} };
  const { changes, outbox } = { changes: store.changes, outbox: keys.changes.outbox(PLACE) };
  const publish = (everything = false) => changes.publish(everything, () => false);
  return {
    ...store,
    publish,
    /** Of the one whose calls `before` sees. */
    writer: createRedisDays({ link, memory }, keys.days, { bus, channelOf: keys.channel, teller }),
    keys: { ...keys.changes, outbox },
    /** As if the last write and publication of the month were so long ago. */
    async age(ms: number, series = PLACE.series) {
      const member = memberOf({ ...PLACE, series });
      const score = Number(await control.zscore(keys.changes.notes, member));
      await control.zadd(keys.changes.notes, 'XX', score - ms, member);
    },
    texts: async () => (await changes.read(FEED_START, 99)).entries.map(({ text }) => text),
  };
}

/** A writer that dies before it publishes. */
const dies: Before = async (script) => {
  if (script === 'xrange') throw new StoreUnavailable('the writer died');
};
const MINUTE_MS = 60_000;

describe('a write in a Redis cluster', () => {
  it('is told by the leader where its writer died, also if its note is lost', async () => {
    const { changes, writer, publish, keys } = await openFeed(dies);
    await writeNow(writer, { told: one('a') });
    await expect
      .poll(async () => {
        await publish();
        return (await changes.newest()).entries.length;
      })
      .toBe(1);
    await writeNow(writer, { told: one('b') });
    await control.del(keys.notes);
    await publish();
    await changes.publish(true, () => true);
    await expectTexts(changes, ['a']);
    await publish(true);
    await expectTexts(changes, ['a', 'b']);
    await publish(true);
    await expectTexts(changes, ['a', 'b']);
  });

  it('is made although its note is refused, and noted with the next one', async () => {
    let isAway = true;
    const { changes, writer, publish, keys } = await openFeed(async (script) => {
      await dies(script);
      if (isAway && script === 'dgwNoteMonths') throw new StoreUnavailable('the slot is away');
    });
    await writeNow(writer, { told: one('a') });
    expect(await control.zcard(keys.notes)).toBe(0);
    isAway = false;
    await writeNow(writer, { series: 'other', told: one('b') });
    expect(await control.zcard(keys.notes)).toBe(2);
    await expect
      .poll(async () => {
        await publish();
        return (await changes.read(FEED_START, 9)).entries.map(({ text }) => text).toSorted();
      })
      .toEqual(['a', 'b']);
  });

  it('is told once and in order although a stalled writer publishes after others, whatever was cleared meanwhile', async () => {
    for (const isCleared of [false, true]) {
      let goOn = () => {};
      const gate = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      let stalled = 0;
      const { changes, days, writer, publish, age, keys, texts } = await openFeed(async (script) => {
        if (script !== 'dgwPublishTold') return;
        stalled += 1;
        await gate;
      });
      await writeNow(days, { told: one('a') });
      await writeNow(writer, { told: one('b') });
      await expect.poll(() => stalled).toBe(1);
      await writeNow(days, { told: one('c') });
      await expectTexts(changes, ['a', 'b', 'c']);
      if (isCleared) {
        await age(2 * MINUTE_MS);
        await publish();
        expect(await control.xlen(keys.outbox)).toBe(0);
      }
      await writeNow(days, { told: one('d') });
      await expectTexts(changes, ['a', 'b', 'c', 'd']);
      goOn();
      await publish(true);
      await writeNow(writer, { told: one('e') });
      await expectTexts(changes, ['a', 'b', 'c', 'd', 'e']);
      await publish(true);
      expect(await texts()).toEqual(['a', 'b', 'c', 'd', 'e']);
    }
  });

  it('is told again where the slot of the feed has lost it in a failover', async () => {
    const { changes, days, publish, age, keys } = await openFeed();
    await writeNow(days, { told: one('a') });
    await expectTexts(changes, ['a']);
    const published = (await control.hget(keys.published, memberOf(PLACE))) ?? '';
    for (const text of ['b', 'c']) await writeNow(days, { told: one(text) });
    await expectTexts(changes, ['a', 'b', 'c']);
    const { incarnation } = await changes.newest();
    for (const everything of [false, true]) {
      const entries = await control.xrange(keys.stream, '-', '+');
      await control.xdel(keys.stream, ...entries.slice(1).map(([id]) => id));
      await control.hset(keys.published, memberOf(PLACE), published);
      await expectTexts(changes, ['a']);
      if (everything) await control.del(keys.notes);
      else await age(2 * MINUTE_MS);
      await publish(everything);
      await expectTexts(changes, ['a', 'b', 'c']);
      expect((await changes.newest()).incarnation).toBe(incarnation);
      // It is kept for another minute.
      await publish();
      expect(await control.xlen(keys.outbox)).toBe(3);
    }
    // All of the slot.
    await control.del(keys.stream, keys.published, keys.notes, keys.meta);
    await publish(true);
    await expectTexts(changes, ['a', 'b', 'c']);
    expect((await changes.newest()).incarnation).not.toBe(incarnation);
  });

  it('is told although a failover of its month has lost numbers, and the clock is behind', async () => {
    const { changes, days, publish, age, keys } = await openFeed();
    for (const text of ['a', 'b']) await writeNow(days, { told: one(text) });
    await expectTexts(changes, ['a', 'b']);
    const [, last] = await control.xrange(keys.outbox, '-', '+');
    const ms = Number(last?.[0].split('-')[0]);
    await control.del(keys.outbox);
    await control.xadd(keys.outbox, `${ms - 90_000}-0`, 't', 'c', 'c', '1');
    await age(MINUTE_MS);
    await publish();
    await expectTexts(changes, ['a', 'b', 'c']);
  });

  it('is not told again where its number is forgotten, as its month was told long after', async () => {
    const { changes, days, publish, keys, texts } = await openFeed();
    await control.xadd(keys.outbox, `${Date.now() - 20 * MINUTE_MS}-0`, 't', 'a', 'c', '1');
    await writeNow(days, { told: one('b') });
    await expectTexts(changes, ['a', 'b']);
    await writeNow(days, { told: one('c') });
    await expectTexts(changes, ['a', 'b', 'c']);
    expect((await control.hget(keys.published, memberOf(PLACE)))?.split(' ')).toHaveLength(2);
    await writeNow(days, { told: one('d') });
    await expectTexts(changes, ['a', 'b', 'c', 'd']);
    await publish(true);
    expect(await texts()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('leaves nothing but its number a minute after it was told, and not that after days', async () => {
    const { changes, days, publish, age, keys, texts } = await openFeed();
    await writeNow(days, { told: one('a') });
    await expectTexts(changes, ['a']);
    await age(MINUTE_MS / 2);
    await publish();
    expect([await control.xlen(keys.outbox), await control.zcard(keys.notes)]).toEqual([1, 1]);
    await age(MINUTE_MS);
    await publish();
    expect([await control.xlen(keys.outbox), await control.zcard(keys.notes)]).toEqual([0, 0]);
    await publish(true);
    expect([await control.exists(keys.outbox), await control.hlen(keys.published)]).toEqual([1, 1]);
    await control.call('XSETID', keys.outbox, '1-1');
    await control.hset(keys.published, memberOf(PLACE), '000000000000001-000000001');
    await publish(true);
    expect([await control.exists(keys.outbox), await control.hlen(keys.published)]).toEqual([0, 0]);
    await writeNow(days, { told: one('b') });
    await expectTexts(changes, ['a', 'b']);
    await publish(true);
    expect(await texts()).toEqual(['a', 'b']);
  });

  it('tells although keys of the feed have another type', async () => {
    const { changes, days, publish, keys } = await openFeed();
    for (const [at, key] of [keys.notes, keys.published, keys.outbox, keys.meta, keys.stream].entries()) {
      await control.set(key, 'text');
      await writeNow(days, { told: one(`${at}`) });
      await expect
        .poll(async () => {
          await publish(true);
          return (await changes.newest()).entries.map(({ text }) => text);
        })
        .toEqual([`${at}`]);
    }
  });

  it('is told once, and after the former one of its month, whoever writes, dies, stalls and publishes meanwhile', async () => {
    const step = fc.record({
      series: fc.constantFrom('s', 'u', 'v'),
      how: fc.constantFrom('well', 'dies', 'stalls'),
      leader: fc.constantFrom('none', 'publishes', 'publishes everything', 'clears'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        let how = 'well';
        const stalled: (() => void)[] = [];
        const { changes, writer, days, publish, age, texts } = await openFeed(async (script) => {
          if (how === 'dies') await dies(script);
          if (how === 'stalls' && script === 'dgwPublishTold')
            await new Promise<void>((resolve) => void stalled.push(resolve));
        });
        for (const [at, one] of steps.entries()) {
          how = one.how;
          const told = { text: `${one.series} ${at}`, count: 1 };
          await writeNow(one.how === 'well' ? days : writer, { series: one.series, told });
          // So that its publication has begun.
          if (one.how !== 'well') await changes.newest();
          if (one.leader === 'clears') await age(2 * MINUTE_MS, one.series);
          if (one.leader !== 'none') await publish(one.leader === 'publishes everything');
          if (at % 3 === 2) stalled.shift()?.();
        }
        for (const goOn of stalled) goOn();
        await expect
          .poll(async () => {
            for (const series of ['s', 'u', 'v']) await age(2 * MINUTE_MS, series);
            await publish(true);
            return (await texts()).length;
          })
          .toBe(steps.length);
        for (const series of ['s', 'u', 'v']) {
          const written = steps.flatMap((one, at) => (one.series === series ? [`${series} ${at}`] : []));
          expect((await texts()).filter((text) => text.startsWith(series))).toEqual(written);
        }
      }),
      { numRuns: 15 },
    );
  });
});
