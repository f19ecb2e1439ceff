import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PinStore, PinsWrite } from '../../src/store/pins-port.js';
import { type OpenHarness, withStore } from './harness.js';

const bytes = (text: string) => Buffer.from(text);
const bodies = (...names: readonly string[]) =>
  new Map(names.map((name) => [name, bytes(`rows of ${name}`)]));

/** Writes over whatever is there. */
export async function writePins(pins: PinStore, owner: string, change: Partial<PinsWrite> = {}) {
  const { stamp } = await pins.read(owner);
  const write = { stamp, index: bytes('index'), added: new Map(), removed: [], ...change };
  return pins.write(owner, write);
}

async function textsOf(pins: PinStore, owner: string, ...names: readonly string[]) {
  const { index, bodies } = await pins.read(owner, names);
  return [index, ...bodies].map((one) => one?.toString() ?? null);
}

async function ownersOf(pins: PinStore, limit: number): Promise<string[]> {
  const all: string[] = [];
  for (let after: string | null = null; ; after = all.at(-1) ?? null) {
    const page = await pins.list(after, limit);
    if (page.length === 0) return all;
    all.push(...page);
  }
}

export function describePins(open: OpenHarness): void {
  describe('pins', () => {
    it('an index and bodies are read by every replica, and only under their owner', () =>
      withStore(open, async ({ store, another }) => {
        const other = (await another()).pins;
        expect(await store.pins.read('t:0', ['a'])).toEqual({ stamp: 0, index: null, bodies: [null] });
        expect(await writePins(store.pins, 't:0', { index: bytes('one'), added: bodies('a', 'b') })).toBe(
          true,
        );
        expect((await other.read('t:0')).stamp).toBeGreaterThan(0);
        expect(await textsOf(other, 't:0', 'b', 'c', 'a')).toEqual(['one', 'rows of b', null, 'rows of a']);
        expect(await textsOf(other, 't:1', 'a')).toEqual([null, null]);
      }));

    it('a write adds, replaces and removes bodies, and leaves all others', () =>
      withStore(open, async ({ store: { pins } }) => {
        await writePins(pins, 't:0', { added: bodies('a', 'b', 'c') });
        const { stamp } = await pins.read('t:0');
        const added = new Map([
          ['b', bytes('other rows')],
          ['d', bytes('')],
        ]);
        await writePins(pins, 't:0', { index: bytes('two'), added, removed: ['a', 'none'] });
        expect((await pins.read('t:0')).stamp).not.toBe(stamp);
        expect(await textsOf(pins, 't:0', 'a', 'b', 'c', 'd')).toEqual([
          ...['two', null, 'other rows', 'rows of c', ''],
        ]);
      }));

    it('a write on another stamp than was read changes nothing', () =>
      withStore(open, async ({ store: { pins } }) => {
        const stale = { stamp: 7, index: bytes('x'), added: bodies('x'), removed: ['a'] };
        expect(await pins.write('t:0', stale)).toBe(false);
        expect(await textsOf(pins, 't:0', 'x')).toEqual([null, null]);
        await writePins(pins, 't:0', { added: bodies('a') });
        const { stamp } = await pins.read('t:0');
        await writePins(pins, 't:0', { index: bytes('two') });
        for (const old of [0, stamp]) expect(await pins.write('t:0', { ...stale, stamp: old })).toBe(false);
        expect(await textsOf(pins, 't:0', 'a', 'x')).toEqual(['two', 'rows of a', null]);
      }));

    it('lets one of several concurrent writers win; if the others repeat, no write is lost', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store.pins, (await another()).pins];
        await writePins(store.pins, 'u:1');
        for (const owner of ['u:0', 'u:1']) {
          const { stamp } = await store.pins.read(owner);
          const made = await Promise.all(
            [0, 1, 2, 3].map((at) => {
              const write = { stamp, index: bytes(`of ${at}`), added: bodies(`${at}`), removed: [] };
              return stores[at % 2]?.write(owner, write);
            }),
          );
          expect(made.filter((one) => one === true)).toHaveLength(1);
          const [index, ...rows] = await textsOf(store.pins, owner, '0', '1', '2', '3');
          expect(index).toBe(`of ${made.indexOf(true)}`);
          expect(rows.map((text) => text !== null)).toEqual(made);
        }
        const add = async (pins: PinStore, name: string): Promise<void> => {
          for (;;) {
            const { stamp, index } = await pins.read('t:0');
            const names = index === null ? [] : JSON.parse(index.toString());
            const next = bytes(JSON.stringify([...names, name]));
            if (await pins.write('t:0', { stamp, index: next, added: bodies(name), removed: [] })) return;
          }
        };
        const names = Array.from({ length: 16 }, (_, at) => `p${at}`);
        await Promise.all(names.map((name, at) => add(stores[at % 2] as PinStore, name)));
        const [index, ...rows] = await textsOf(store.pins, 't:0', ...names);
        expect(JSON.parse(index ?? '').sort()).toEqual([...names].sort());
        expect(rows).toEqual(names.map((name) => `rows of ${name}`));
      }));

    it('lists each owner once, page by page, and forgets those that are removed', () =>
      withStore(open, async ({ store: { pins } }) => {
        expect(await pins.list(null, 10)).toEqual([]);
        const owners = ['b:0', 'a:1', 'a:10', 'ä:0', 'long'.padEnd(400, 'x')];
        for (const owner of owners) await writePins(pins, owner, { added: bodies('a') });
        await writePins(pins, 'b:0', { index: bytes('two') });
        for (const limit of [1, 2, 10])
          expect((await ownersOf(pins, limit)).sort()).toEqual([...owners].sort());
        await pins.remove('a:1');
        await pins.remove('none');
        expect(await textsOf(pins, 'a:1', 'a')).toEqual([null, null]);
        expect(await textsOf(pins, 'a:10', 'a')).toEqual(['index', 'rows of a']);
        expect((await ownersOf(pins, 2)).sort()).toEqual(owners.filter((one) => one !== 'a:1').sort());
        expect(await writePins(pins, 'a:1', { added: bodies('b') })).toBe(true);
        expect(await textsOf(pins, 'a:1', 'a', 'b')).toEqual(['index', null, 'rows of b']);
      }));

    it('shares nothing with old pins of the same owner', () =>
      withStore(open, async ({ store }) => {
        expect(await store.oldPins.write('t:0', { stamp: 1, bytes: bytes('old') }, [])).toBe(false);
        await writePins(store.pins, 't:0', { added: bodies('a') });
        expect(await store.oldPins.index('t:0')).toBeNull();
        await store.oldPins.remove('t:0');
        expect(await textsOf(store.pins, 't:0', 'a')).toEqual(['index', 'rows of a']);
      }));

    it('holds after any writes and removals what a map would hold, whatever the bytes', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store.pins, (await another()).pins];
        let run = 0;
        const name = fc.constantFrom('a', 'b', 'ü', 'c.0', ':');
        const any = fc.uint8Array({ maxLength: 2000 }).map((all) => Buffer.from(all));
        const step = fc.record({
          owner: fc.constantFrom('t:0', 't:1'),
          at: fc.nat(1),
          index: any,
          added: fc.dictionary(name, any, { maxKeys: 3 }),
          removed: fc.array(name, { maxLength: 2 }),
          isRemoval: fc.boolean(),
        });
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
            run += 1;
            const model = new Map<string, { index: Buffer; bodies: Map<string, Buffer> }>();
            for (const { owner: of, at, index, added, removed, isRemoval } of steps) {
              const owner = `${run}/${of}`;
              const pins = stores[at] as PinStore;
              if (isRemoval && removed.length === 2) {
                await pins.remove(owner);
                model.delete(owner);
                continue;
              }
              const gone = removed.filter((one) => !(one in added));
              const write = { index, added: new Map(Object.entries(added)), removed: gone };
              expect(await writePins(pins, owner, write)).toBe(true);
              const known = model.get(owner)?.bodies ?? new Map<string, Buffer>();
              for (const one of gone) known.delete(one);
              for (const [one, body] of write.added) known.set(one, body);
              model.set(owner, { index, bodies: known });
            }
            const names = ['a', 'b', 'ü', 'c.0', ':'];
            for (const owner of [`${run}/t:0`, `${run}/t:1`]) {
              const found = await store.pins.read(owner, names);
              const wanted = model.get(owner);
              expect(found.index).toEqual(wanted?.index ?? null);
              expect(found.bodies).toEqual(names.map((one) => wanted?.bodies.get(one) ?? null));
            }
          }),
          { numRuns: 25 },
        );
      }));
  });
}
