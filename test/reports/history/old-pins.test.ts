/** Pins of an earlier release, in a folder and in a Redis: at the first access, by several replicas, damaged, without room. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeIndex } from '../../../src/reports/history/pin-index.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { flipBits, inFolder, openIn } from '../../store/embedded/in-folder.js';
import { serverOfFile, withControl } from '../../store/redis/open-store.js';
import { oldRows, putInFolder } from './old-pin-records.js';
import { dayOf } from './on-disk.js';
import {
  expectAdopted,
  openFolder,
  openRedis,
  type PinsScene,
  pin,
  pinsOn,
  shown,
  writeOld,
  writesOf,
} from './pin-scene.js';

const server = serverOfFile();

const never = () => false;

describe.each([
  ['a folder', openFolder],
  ['a Redis', () => openRedis(server.url)],
])('old pins in %s', (_where, open) => {
  it('are rewritten by the first access of any kind, and a deleted one does not come back', async () => {
    const store = await open();
    const writes = writesOf(2);
    for (const [at, access] of [
      (owner: string) => pinsOn(store).list(owner),
      (owner: string) => pinsOn(store).read(owner, 'pin_0'),
      (owner: string) => pinsOn(store).read(owner, 'none'),
      (owner: string) => pinsOn(store).remove(owner, 'none'),
      () => pinsOn(store).removeErased(),
    ].entries()) {
      const owner = `t${at}:0`;
      const written = await writeOld(store, owner, writes);
      await access(owner);
      await expectAdopted(store, owner, written, writes);
      expect(await pinsOn(store).remove(owner, 'pin_days')).toBe(true);
      await pinsOn(store).adopt(never);
      await expectAdopted(store, owner, written.slice(1), writes);
    }
    const left = await writeOld(store, 'v:0', writes);
    const added = await pinsOn(store).add('v:0', pin('pin_new'), [dayOf('2026-11-01', 1, 1)]);
    expect(await pinsOn(store).list('v:0')).toEqual([...left, added]);
    await writeOld(store, 'u:0', writes);
    const index = encodeIndex({ pins: left.slice(1), adopted: ['pin_days'] });
    await store.pins.write('u:0', { stamp: 0, index, added: new Map(), removed: [] });
    await expectAdopted(store, 'u:0', left.slice(1), writes);
  });

  it('are in one state after replicas that rewrite, read and delete them at once', async () => {
    const store = await open();
    const writes = writesOf(55);
    const owners = ['t:0', 'u:0'];
    for (const owner of owners) await writeOld(store, owner, writes);
    const replicas = [pinsOn(store), pinsOn(store), pinsOn(store)];
    const removed = await Promise.all([
      ...replicas.map((one) => one.adopt(never)),
      ...owners.flatMap((owner) => replicas.map((one) => one.list(owner))),
      ...owners.map((owner) => pinsOn(store).remove(owner, 'pin_7')),
    ]);
    expect(removed.slice(-2)).toEqual([true, true]);
    for (const { log } of replicas) expect(log.lines.filter(({ level }) => level !== 'info')).toEqual([]);
    const [, ...rest] = await pinsOn(store).list('t:0');
    expect(rest.length).toBe(writes.length - 2);
    const written = await pinsOn(store).list('u:0');
    expect(written.map(({ id }) => id)).toEqual(
      writes.map(({ pin: { id } }) => id).filter((id) => id !== 'pin_7'),
    );
    for (const owner of owners) await expectAdopted(store, owner, written, writes);
  });

  it('that another replica has rewritten and deleted in between do not come back', async () => {
    const store = await open();
    const writes = writesOf(1);
    const written = await writeOld(store, 't:0', writes);
    let reads = 0;
    const index: PinsScene['oldPins']['index'] = async (owner) => {
      const found = await store.oldPins.index(owner);
      reads += 1;
      // The first read only finds that there are old pins.
      if (reads === 2) await pinsOn(store).remove('t:0', 'pin_days');
      return found;
    };
    const late = pinsOn({ pins: store.pins, oldPins: { ...store.oldPins, index } });
    expect(await late.list('t:0')).toEqual(written.slice(1));
    await expectAdopted(store, 't:0', written.slice(1), writes);
  });

  it('stay listed with damaged rows, which are logged by id, and stop no others', async () => {
    const store = await open();
    const writes = writesOf(2);
    const written = await writeOld(store, 't:0', writes);
    const others = await writeOld(store, 'u:0', writes);
    await store.putOld('a:0', { index: Buffer.from('x') });
    const foreign = oldRows('p1:{t:0}:pin_0:0', dayOf('2026-11-01', 0, 1_000_000));
    await store.putOld('t:0', { rows: new Map([['pin_days.1', foreign]]) });
    const pins = pinsOn(store);
    await pins.adopt(never);
    expect(pins.log.lines).toMatchObject([
      { level: 'info', owners: 3 },
      { level: 'error', owner: 't:0', pin: 'pin_days' },
      { level: 'warn', failed: 1, withoutRoom: 0 },
      { level: 'info', done: 2, owners: 3, pins: 10, damaged: 1 },
    ]);
    expect(await pins.list('t:0')).toEqual(written);
    await expect(pins.read('t:0', 'pin_days')).rejects.toMatchObject({ code: 'internal_error' });
    await expect(pins.list('a:0')).rejects.toMatchObject({ code: 'not_ready' });
    expect(await shown((await pins.read('t:0', 'pin_mixed'))?.parts ?? [], 2)).toEqual(
      await shown(writes[1]?.parts ?? [], 2),
    );
    await expectAdopted(store, 'u:0', others, writes);
    expect(await pins.remove('t:0', 'pin_days')).toBe(true);
    expect(await pins.list('t:0')).toEqual(written.slice(1));
  });

  it('are read as they are where the store has no room, and rewritten once it has', async () => {
    const store = await open();
    const writes = writesOf(2);
    const written = await writeOld(store, 't:0', writes);
    let room = 1;
    const write: PinsScene['pins']['write'] = async (...all) => {
      room -= 1;
      if (room < 0) throw new StoreUnavailable('no room', 'no-room');
      return store.pins.write(...all);
    };
    const pins = pinsOn({ oldPins: store.oldPins, pins: { ...store.pins, write } });
    expect(await pins.list('t:0')).toMatchObject(written);
    for (const { pin: one, parts } of writes)
      expect(await shown((await pins.read('t:0', one.id))?.parts ?? [], one.rowCount)).toEqual(
        await shown(parts, one.rowCount),
      );
    expect(await pins.read('t:0', 'none')).toBeNull();
    await expect(pins.add('t:0', pin('pin_new'), [])).rejects.toMatchObject({ code: 'conflict' });
    await expect(pins.remove('t:0', 'pin_0')).rejects.toMatchObject({ code: 'conflict' });
    await pins.adopt(never);
    expect(pins.log.lines).toContainEqual(expect.objectContaining({ level: 'warn', withoutRoom: 1 }));
    room = Number.POSITIVE_INFINITY;
    await pins.adopt(never);
    await expectAdopted(store, 't:0', written, writes);
  });

  it('of a deleted team are swept without being rewritten', async () => {
    const store = await open();
    const writes = writesOf(1);
    await writeOld(store, 't:0', writes);
    const other = await writeOld(store, 't:1', writes);
    expect(await pinsOn(store).sweep((owner) => owner === 't:0')).toBe(1);
    await expectAdopted(store, 't:0', [], writes);
    await expectAdopted(store, 't:1', other, writes);
  });
});

it('leave no key of theirs in Redis', async () => {
  const store = await openRedis(server.url);
  await writeOld(store, 't:0', writesOf(3));
  await pinsOn(store).adopt(never);
  await withControl(server.url, async (control) => {
    expect((await control.keys('*pin*')).sort()).toEqual(['dgw:1:pinned', 'dgw:1:pinned:{t:0}']);
  });
});

it('in a folder stay listed where a bit of their rows has flipped on the disk', () =>
  inFolder(async (folder) => {
    const { close, ...store } = await openIn(folder);
    const writes = [...writesOf(1), { pin: pin('pin_hit'), parts: [dayOf('2026-12-24', 7, 1_000_000)] }];
    const written = await writeOld({ ...store, putOld: putInFolder(folder) }, 't:0', writes);
    flipBits(join(folder, 'history', 'data.mdb'), '"2026-12-24"');
    const pins = pinsOn(store);
    await pins.adopt(never);
    expect(pins.log.lines).toContainEqual(expect.objectContaining({ level: 'error', pin: 'pin_hit' }));
    await expect(pins.read('t:0', 'pin_hit')).rejects.toMatchObject({ code: 'internal_error' });
    await expectAdopted(store, 't:0', written, writes.slice(0, -1));
    expect(await store.oldPins.owners(null, 10)).toEqual([]);
    await close();
  }));
