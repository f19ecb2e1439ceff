/** Pins of an earlier release are rewritten once and whole, wherever the work breaks off, in a folder and in a Redis. */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import { type Bundle, bundleScript } from '../../store/embedded/bundle.js';
import { startScript } from '../../store/embedded/child.js';
import { inFolder, openIn } from '../../store/embedded/in-folder.js';
import { serverOfFile } from '../../store/redis/open-store.js';
import { putInFolder } from './old-pin-records.js';
import {
  expectAdopted,
  openFolder,
  openRedis,
  type PinsScene,
  pinsOn,
  type Written,
  writeOld,
  writesOf,
} from './pin-scene.js';

const server = serverOfFile();

/** PinsScene of a process that dies before its n-th call, or after it without an answer. */
function dying(store: PinsScene, at: number, isDone: boolean) {
  const calls = { made: 0 };
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name) {
        const method = Reflect.get(of, name) as (...all: unknown[]) => Promise<unknown>;
        return async (...all: unknown[]) => {
          calls.made += 1;
          const isLast = calls.made === at;
          if (isLast && isDone) await method.apply(of, all);
          if (calls.made >= at) throw new StoreUnavailable('killed');
          return await method.apply(of, all);
        };
      },
    });
  return { pins: wrap(store.pins), oldPins: wrap(store.oldPins), calls };
}

const never = () => false;
const POINTS = 20;

describe.each([
  ['a folder', openFolder],
  ['a Redis', () => openRedis(server.url)],
])('old pins in %s', (_where, open) => {
  it(`are there once and show the same bytes, after a kill at each of ${POINTS} points`, async () => {
    const store = await open();
    const writes = writesOf(2);
    await writeOld(store, 'first:0', writes);
    const whole = dying(store, Number.POSITIVE_INFINITY, false);
    await pinsOn(whole).adopt(never);
    const calls = whole.calls.made;
    expect(calls).toBeGreaterThan(POINTS);
    for (let nth = 0; nth < POINTS; nth += 1) {
      const owner = `t${nth}:0`;
      const written = await writeOld(store, owner, writes);
      const at = 1 + Math.floor((nth * (calls - 1)) / (POINTS - 1));
      const dead = dying(store, at, nth % 2 === 1);
      await pinsOn(dead)
        .adopt(never)
        .catch((error: unknown) => expect(error).toBeInstanceOf(StoreUnavailable));
      expect(dead.calls.made).toBeGreaterThanOrEqual(at);
      await pinsOn(store).adopt(never);
      await expectAdopted(store, owner, written, writes);
    }
    expect(await store.oldPins.owners(null, 10)).toEqual([]);
  }, 120_000);
});

describe('kill -9 of the process that rewrites old pins', () => {
  let script: Bundle;
  beforeAll(async () => {
    script = await bundleScript('adopt-pins.mjs');
  });
  afterAll(() => script.remove());

  it(
    'loses none and doubles none, wherever it strikes',
    () =>
      inFolder(async (folder) => {
        const writes = writesOf(2);
        const owners = ['a:0', 'b:0', 'c:0', 'd:0'];
        const first = await openIn(folder);
        const written: Written[] = [];
        for (const owner of owners)
          written.push(await writeOld({ ...first, putOld: putInFolder(folder) }, owner, writes));
        await first.close();
        for (const calls of [5, 14, 40]) {
          const child = await startScript(script.path, folder);
          let text = '';
          child.stdout.on('data', (chunk) => {
            text += chunk;
            if (text.split('\n').length > calls) child.kill('SIGKILL');
          });
          const [, signal] = await once(child, 'close');
          expect(signal).toBe('SIGKILL');
        }
        const { close, ...store } = await openIn(folder);
        expect(await store.oldPins.owners(null, 10)).not.toEqual([]);
        await pinsOn(store).adopt(never);
        for (const [at, owner] of owners.entries())
          await expectAdopted(store, owner, written[at] as Written, writes);
        expect(await store.oldPins.owners(null, 10)).toEqual([]);
        await close();
      }),
    60_000,
  );
});
