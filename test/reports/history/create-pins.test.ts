/** Limits and gaps of the room of pins, whoever fills it at once. */
import { expect, it } from 'vitest';
import type { GatewayError } from '../../../src/errors.js';
import { encodeEntry } from '../../../src/reports/cache/entry.js';
import { createPins, encodePins, PIN_LIMITS, type Pin } from '../../../src/reports/history/pins.js';
import type { HistoryStore } from '../../../src/store/history-port.js';
import { dayOf, openHistory } from './on-disk.js';

const encode = async (entries: Parameters<typeof encodeEntry>[0][]) => entries.map(encodeEntry);
const roomOn = (store: HistoryStore) => createPins({ store, encode: encode as never, isErased: () => false });
const PART = dayOf('2026-11-01', 1, 1_000_000);

const pin = (id: string, more: Partial<Pin> = {}): Omit<Pin, 'bytes' | 'parts'> => ({
  ...{
    id,
    createdAt: 1,
    note: null,
    endpoint: 'campaigns/get',
    query: '',
    series: 's',
    from: null,
    to: null,
  },
  ...{ account: null, split: [], revision: null, knownAt: 1, final: false, rowCount: 1, named: [], held: [] },
  ...{ seq: 0, fetchedFrom: 1 },
  format: 1,
  ...more,
});
const held = (id: string, bytes: number): Pin => ({ ...pin(id), parts: 0, bytes });
const fill = (store: HistoryStore, owner: string, pins: readonly Pin[]) =>
  store.write(owner, [
    { day: '2000-01-01', stamp: 0, heads: encodePins(pins), added: new Map(), removed: [] },
  ]);
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'made',
    (error: GatewayError) => error.code,
  );

it('takes no more than the limit however many replicas add at once, and says the way out', async () => {
  const { pins: store } = await openHistory();
  const [one, other] = [roomOn(store), roomOn(store)];
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
  const { pins: store } = await openHistory();
  const room = roomOn(store);
  await fill(store, 't:0', [held('pin_1', PIN_LIMITS.bytes - 1000)]);
  const note = 'x'.repeat(1000);
  expect(await codeOf(room.add('t:0', pin('pin_2', { note }), []))).toBe('conflict');
  expect(await codeOf(room.add('t:0', pin('pin_3'), [PART]))).toBe('made');
});

it('sweeps the pins of those who are gone, and no others', async () => {
  const { pins: store } = await openHistory();
  const room = roomOn(store);
  for (const owner of ['a:0', 'a:1', 'b:0']) await room.add(owner, pin('pin_1'), [PART]);
  expect(await room.sweep((owner) => owner === 'a:0')).toBe(1);
  expect(await room.list('a:0')).toEqual([]);
  expect((await room.read('a:1', 'pin_1'))?.parts[0]?.body).toEqual(PART.body);
  expect(await room.list('b:0')).toHaveLength(1);
});

it('shows no rows that are not those of the pin', async () => {
  const { pins: store } = await openHistory();
  const room = roomOn(store);
  await room.add('a:0', pin('pin_1'), [PART]);
  const place = '2000-01-01';
  const [content] = await store.contents('a:0', [{ day: place, name: 'pin_1.0' }]);
  await room.add('b:0', pin('pin_1'), [PART]);
  const [heads] = await store.heads('b:0', [place]);
  const added = new Map([['pin_1.0', content as never]]);
  await store.write('b:0', [
    { day: place, stamp: heads?.stamp ?? 0, heads: heads?.heads as Buffer, added, removed: [] },
  ]);
  expect(await codeOf(room.read('b:0', 'pin_1'))).toBe('internal_error');
});
