/** The feed of changes as stored in Redis: another feed after a loss, foreign values, a server without room, commands. */
import { expect, it, onTestFinished } from 'vitest';
import { FEED_CHANNEL, FEED_START } from '../../../src/store/changes-port.js';
import { commandsDuring } from '../../support/redis-monitor.js';
import { expectTexts, one, writeNow } from '../conformance-changes.js';
import { monthWrite, PLACE } from '../conformance-days.js';
import { openStore, serverOfFile, startServer, withControl } from './open-store.js';

const server = serverOfFile();
const [STREAM, META] = ['dgw:1:{changes}:stream', 'dgw:1:{changes}:meta'];

async function open(url = server.url, options: Parameters<typeof openStore>[1] = {}) {
  const { store } = await openStore(url, options);
  onTestFinished(() => store.close());
  return store;
}

it('a Redis that was emptied begins another feed, by a read or by a write', async () => {
  const { changes, days } = await open();
  await writeNow(days, { told: one('a') });
  const first = await changes.read(FEED_START, 9);
  await withControl(server.url, (control) => control.flushall());
  const second = await changes.read(FEED_START, 9);
  expect(second).toMatchObject({ entries: [], last: FEED_START });
  await withControl(server.url, (control) => control.flushall());
  await writeNow(days, { told: one('b') });
  const third = await changes.read(FEED_START, 9);
  expect(third.entries.map(({ text }) => text)).toEqual(['b']);
  expect(new Set([first, second, third].map(({ incarnation }) => incarnation)).size).toBe(3);
});

it('another feed begins where its name or its entries are lost, or a key has another type', async () => {
  const { changes, days } = await open();
  let { incarnation } = await changes.newest();
  await withControl(server.url, async (control) => {
    const faults = [
      () => control.del(META),
      () => control.set(META, 'text'),
      () => control.set(STREAM, 'text'),
      () => control.hdel(META, 'inc'),
      () => control.hset(META, 'count', 'many'),
    ];
    for (const fault of faults)
      for (const isRead of [true, false]) {
        await writeNow(days, { told: one('before') });
        await fault();
        if (isRead) expect(await changes.read(FEED_START, 9)).toMatchObject({ entries: [] });
        else {
          await writeNow(days, { told: one('after') });
          await expectTexts(changes, ['after']);
        }
        const next = await changes.newest();
        expect(next.incarnation).not.toBe(incarnation);
        incarnation = next.incarnation;
      }
    await control.hset(META, 'count', 'many');
    await changes.trim(0);
  });
});

async function openFull() {
  const full = await startServer('--maxmemory-policy', 'noeviction');
  const store = await open(full.url);
  return {
    ...store,
    url: full.url,
    fill: () => withControl(full.url, (control) => control.config('SET', 'maxmemory', '100kb')),
  };
}

it('a server without memory refuses a write together with what it tells, and takes removals with it', async () => {
  const { changes, days, fill } = await openFull();
  const other = { series: 'other' };
  await writeNow(days, { told: one('first') });
  await writeNow(days, { ...other, earlier: new Map([[1, Buffer.from('earlier')]]) });
  const stampOf = async (place: typeof PLACE) => (await days.whole(place))?.stamp ?? 0;
  const stamp = await stampOf(PLACE);
  await fill();
  const writing = days.write([monthWrite(stamp, 'refused', { told: one('refused') })]);
  await expect(writing).rejects.toMatchObject({ name: 'StoreUnavailable', why: 'no-room' });
  await expect(changes.append(one('refused'))).rejects.toMatchObject({ why: 'no-room' });
  expect((await days.whole(PLACE))?.index?.toString()).toBe('index');
  await expectTexts(changes, ['first']);
  const removal = { ...other, earlier: new Map([[1, null]]), isRemoval: true, told: one('less') } as const;
  expect(
    await days.write([{ ...monthWrite(await stampOf({ ...PLACE, ...other }), 'less', removal) }]),
  ).toEqual([null]);
  expect(await days.remove(PLACE, stamp, one('removed'))).toBe(true);
  await expectTexts(changes, ['first', 'less', 'removed']);
  await changes.trim(0);
});

it('a server that begins its feed without memory changes nothing', async () => {
  const { days, fill, url } = await openFull();
  await writeNow(days, {});
  await fill();
  const stamp = (await days.whole(PLACE))?.stamp ?? 0;
  const writing = days.write([monthWrite(stamp, 'refused', { told: one('refused') })]);
  await expect(writing).rejects.toMatchObject({ why: 'no-room' });
  await withControl(url, async (control) => {
    expect(await control.exists(STREAM, META)).toBe(0);
  });
});

it.each(['xadd', 'hset'])(
  'a user without the right to %s writes neither month nor entry',
  async (command) => {
    const mine = await startServer();
    const all = await open(mine.url);
    await writeNow(all.days, { told: one('first') });
    await withControl(mine.url, (control) => control.acl('SETUSER', 'default', `-${command}`));
    const stamp = (await all.days.whole(PLACE))?.stamp ?? 0;
    const writing = all.days.write([monthWrite(stamp, 'refused', { told: one('refused') })]);
    await expect(writing).rejects.toThrow('Redis refused the call');
    expect((await all.days.whole(PLACE))?.index?.toString()).toBe('index');
    await withControl(mine.url, (control) => control.acl('SETUSER', 'default', `+${command}`));
    await writeNow(all.days, { told: one('last') });
    await expectTexts(all.changes, ['first', 'last']);
    await withControl(mine.url, async (control) => expect(await control.hget(META, 'count')).toBe('2'));
  },
);

it('a write that tells takes as many commands of the client as one that does not', async () => {
  const { days } = await open();
  const series = (name: string, told?: ReturnType<typeof one>) => ({
    ...monthWrite(0, 'index', { release: { owner: 'one', names: ['a'] }, ...(told && { told }) }),
    series: name,
  });
  const sentBy = async (work: () => Promise<unknown>) =>
    (await commandsDuring(server.url, work))
      .filter(({ source }) => source !== 'lua')
      .map(({ args }) => args[0]);
  await days.write([series('sent before', one('first'))]);
  const silent = await sentBy(() => days.write([series('a'), series('b')]));
  const telling = await sentBy(() => days.write([series('c', one('c')), series('d', one('d'))]));
  expect(telling).toEqual(silent);
  expect(await sentBy(() => days.remove({ ...PLACE, series: 'a' }, 1, one('a')))).toHaveLength(1);
});

it('is announced on the server of the bus where days are on another', async () => {
  const apart = await startServer();
  const { bus, days } = await open(server.url, { registryConnection: { url: apart.url } });
  const heard: string[] = [];
  bus.subscribe(FEED_CHANNEL, (message) => void heard.push(message));
  await expect
    .poll(async () => {
      await bus.publish(FEED_CHANNEL, 'ready');
      return heard.length;
    })
    .toBeGreaterThan(0);
  await writeNow(days, { told: one('a') });
  await expect.poll(() => heard).toContain('');
  await withControl(apart.url, async (control) => expect(await control.xlen(STREAM)).toBe(1));
});
