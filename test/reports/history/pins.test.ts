/** Pins on a real store: limits, forms, owners, and rows that stay. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { GatewayError } from '../../../src/errors.js';
import { encodeIndex, type Pin } from '../../../src/reports/history/pin-index.js';
import { decodePinned, encodePinned, headerOf } from '../../../src/reports/history/pinned-rows.js';
import { PIN_LIMITS } from '../../../src/reports/history/pins.js';
import type { Store } from '../../../src/store/port.js';
import { rowsEntry } from '../rows/entries.js';
import { dayOf, openHistory } from './on-disk.js';
import { openFolder, pin, pinsOn } from './pin-scene.js';

const PART = dayOf('2026-11-01', 1, 1_000_000);

const held = (id: string, bytes: number): Pin => ({ ...pin(id), bytes });
const fill = ({ pins: store }: Store, owner: string, pins: readonly Pin[]) =>
  store.write(owner, {
    stamp: 0,
    index: encodeIndex({ pins, adopted: [] }),
    added: new Map(),
    removed: [],
  });
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'made',
    (error: GatewayError) => error.code,
  );

it('says of pins in another form why they cannot be read, and that repeating does not help', async () => {
  const store = await openFolder();
  for (const [owner, text] of [
    ['newer:0', '{"pins":{"of":"a newer release"}}'],
    ['damaged:0', 'x'],
  ] as const) {
    const index = Buffer.from(text);
    await store.pins.write(owner, { stamp: 0, index, added: new Map(), removed: [] });
    await store.putOld(`old-${owner}`, { index });
    for (const one of [owner, `old-${owner}`])
      await expect(pinsOn(store).add(one, pin('pin_1'), [PART])).rejects.toMatchObject({
        code: 'not_ready',
        options: {
          detail: expect.stringContaining('a newer release has written them, or they are damaged'),
          help: 'Ask your operator to run the newest release on all replicas; repeating does not help.',
        },
      });
  }
});

it('takes no more than the limit however many replicas add at once, and says the way out', async () => {
  const store = await openHistory();
  const [one, other] = [pinsOn(store), pinsOn(store)];
  const before = Array.from({ length: PIN_LIMITS.pins - 3 }, (_, at) => held(`pin_${at}`, 1));
  await fill(store, 't:0', before);
  const more = await Promise.all(
    Array.from({ length: 8 }, (_, at) =>
      codeOf((at % 2 === 0 ? one : other).add('t:0', pin(`pin_x${at}`), [PART])),
    ),
  );
  expect(more.filter((code) => code === 'made')).toHaveLength(3);
  expect(more.filter((code) => code === 'conflict')).toHaveLength(5);
  expect(await one.list('t:0')).toHaveLength(PIN_LIMITS.pins);
  const error = await one.add('t:0', pin('pin_y'), []).catch((thrown: GatewayError) => thrown.options.help);
  expect(error).toContain('DELETE');
  expect(await other.remove('t:0', 'pin_1')).toBe(true);
  expect(await codeOf(one.add('t:0', pin('pin_y'), [PART]))).toBe('made');
  expect(await codeOf(one.add('u:0', pin('pin_y'), []))).toBe('made');
});

it('takes no more bytes than the limit', async () => {
  const store = await openHistory();
  const room = pinsOn(store);
  await fill(store, 't:0', [held('pin_1', PIN_LIMITS.bytes - 1000)]);
  const note = 'x'.repeat(1000);
  expect(await codeOf(room.add('t:0', pin('pin_2', { note }), []))).toBe('conflict');
  expect(await codeOf(room.add('t:0', pin('pin_3'), [PART]))).toBe('made');
});

it('sweeps the pins of those who are gone, and no others', async () => {
  const store = await openHistory();
  const room = pinsOn(store);
  for (const owner of ['a:0', 'a:1', 'b:0']) await room.add(owner, pin('pin_1'), [PART]);
  expect(await room.sweep((owner) => owner === 'a:0')).toBe(1);
  expect(await room.list('a:0')).toEqual([]);
  expect((await room.read('a:1', 'pin_1'))?.parts[0]?.body).toEqual(PART.body);
  expect(await room.list('b:0')).toHaveLength(1);
});

it('shows no rows that are not those of the pin', async () => {
  const store = await openHistory();
  const pins = pinsOn(store);
  await pins.add('a:0', pin('pin_1'), [PART]);
  const { stamp, index } = await store.pins.read('a:0');
  const added = new Map([['pin_1', Buffer.from('other bytes')]]);
  await store.pins.write('a:0', { stamp, index: index as Buffer, added, removed: [] });
  expect(await codeOf(pins.read('a:0', 'pin_1'))).toBe('internal_error');
});

it('has the rows of each part as they were, whatever they are, and nothing of other bytes', async () => {
  const value = fc.oneof(fc.integer(), fc.string({ unit: 'grapheme' }), fc.constant(null));
  const row = fc.dictionary(fc.constantFrom('date', 'spent', 'name', 'ä b'), value);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(row, { maxLength: 4 }), { maxLength: 4 }), async (days) => {
      const parts = days.map((rows) => rowsEntry(rows, { accounts: ['1'], splitFrom: null }));
      const bytes = await encodePinned(parts);
      const found = (await decodePinned(bytes)) ?? [];
      expect(found.map(({ body }) => body.toString())).toEqual(parts.map(({ body }) => body.toString()));
      expect(headerOf(found)).toBe(headerOf(parts));
      expect(await decodePinned(bytes.subarray(0, -3))).toBeNull();
    }),
    { numRuns: 50 },
  );
  const many = Array.from({ length: 20_000 }, (_, at) => ({ id: (at * 2_654_435_761) % 2 ** 32 }));
  const large = await encodePinned([rowsEntry(many), PART]);
  expect(large.length).toBeGreaterThan(65_536);
  expect((await decodePinned(large))?.[1]?.body).toEqual(PART.body);
  expect(await decodePinned(large.subarray(0, -3))).toBeNull();
  expect(await decodePinned(Buffer.from('x'))).toBeNull();
});
