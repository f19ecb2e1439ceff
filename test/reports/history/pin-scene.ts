/** Pins on a store, and the old form of pins, as an earlier release wrote it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { formatRows } from '../../../src/reports/cache/threads/tasks.js';
import { createOldPins, type OldPin } from '../../../src/reports/history/old-pins.js';
import type { Pin } from '../../../src/reports/history/pin-index.js';
import { formatPinned } from '../../../src/reports/history/pinned-rows.js';
import { createPins } from '../../../src/reports/history/pins.js';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import { createEmbeddedStore } from '../../../src/store/embedded/embedded-store.js';
import type { Store } from '../../../src/store/port.js';
import { openStore } from '../../store/redis/open-store.js';
import { createTestLog } from '../../store/test-log.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { createStandingClock } from '../../support/test-clock.js';
import { rowsEntry } from '../rows/entries.js';
import { type OldRows, oldRows, type PutOld, putInFolder, putInRedis } from './old-pin-records.js';
import { dayOf } from './on-disk.js';

const format = async (task: Parameters<typeof formatRows>[0]) => formatRows(task);

export type PinsScene = Pick<Store, 'pins' | 'oldPins'>;

/** A scene whose store may get pins of an earlier release. */
export type OldScene = PinsScene & { readonly putOld: PutOld };

export async function openFolder(): Promise<OldScene> {
  const dataDir = await mkdtemp(join(tmpdir(), 'dgw-pins-'));
  const options = { cacheMaxBytes: 16_777_216, clock: createStandingClock(), logger: createTestLog() };
  const store = await createEmbeddedStore({ dataDir, ...options });
  onTestFinished(async () => {
    await store.close();
    await rm(dataDir, { recursive: true });
  });
  return { ...store, putOld: putInFolder(dataDir) };
}

export async function openRedis(url: string): Promise<OldScene> {
  const { store } = await openStore(url);
  onTestFinished(() => store.close());
  return { ...store, putOld: putInRedis(url) };
}

export function pinsOn({ pins: store, oldPins }: PinsScene) {
  const log = createRecordedLog();
  const old = createOldPins({ store: oldPins, pins: store, format, logger: log.logger });
  return { ...createPins({ store, old, isErased: () => false }), log };
}

export const pin = (id: string, more: Partial<Pin> = {}): Omit<Pin, 'bytes'> => ({
  id,
  createdAt: 1,
  note: null,
  endpoint: 'campaigns/get',
  query: '',
  series: 's',
  from: null,
  to: null,
  account: null,
  split: [],
  revision: null,
  knownAt: 1,
  final: false,
  rowCount: 1,
  named: [],
  held: [],
  seq: 0,
  fetchedFrom: 1,
  format: 1,
  ...more,
});

export interface OldWrite {
  readonly pin: Omit<Pin, 'bytes'>;
  readonly parts: readonly Entry<RowsHeader>[];
  /** What the index says of its size, where that is not its size. */
  readonly bytes?: number;
}

/** Writes pins of an owner, which has none yet, as an earlier release did. @returns them as they must be listed */
export async function writeOld(
  { oldPins, putOld }: Pick<OldScene, 'oldPins' | 'putOld'>,
  owner: string,
  all: readonly OldWrite[],
) {
  if ((await oldPins.index(owner)) !== null) throw new Error(`${owner} has old pins already`);
  const rows = new Map<string, OldRows>();
  const pins: OldPin[] = all.map(({ pin: one, parts, ...said }) => {
    let bytes = 0;
    for (const [at, part] of parts.entries()) {
      const stored = oldRows(`p1:{${owner}}:${one.id}:${at}`, part);
      rows.set(`${one.id}.${at}`, stored);
      bytes += stored.bytes.length;
    }
    return { ...one, parts: parts.length, bytes, ...said };
  });
  await putOld(owner, { index: Buffer.from(JSON.stringify({ form: 1, pins })), rows });
  return pins.map(({ parts: _, ...one }) => one);
}

const SHAPES = ['json', 'csv', 'ndjson'] as const;

/** Days with equal columns, with other names and types, without rows; a whole answer; many small pins. Of three steps at least. */
export function writesOf(many: number): readonly OldWrite[] {
  const days = ['2026-11-01', '2026-11-02', '2026-11-03'].map((date, at) => dayOf(date, at, 1_000_000 + at));
  const accounts = ['1', '2'];
  const mixed = [
    rowsEntry([{ date: '2026-11-01', Spent: 1.5, name: 'a "b", ü' }], { accounts, lastDay: '2026-11-01' }),
    rowsEntry([], { accounts: [], lastDay: '2026-11-02' }),
    rowsEntry([{ date: '2026-11-03', spent: '2.50', clicks: null }], { accounts, lastDay: '2026-11-03' }),
  ];
  const whole = [rowsEntry(Array.from({ length: 500 }, (_, at) => ({ campaignid: at, spent: at / 7 })))];
  return [
    { pin: pin('pin_days', { rowCount: 3, revision: 'r', note: 'invoice' }), parts: days },
    { pin: pin('pin_mixed', { rowCount: 2, named: ['1'], held: accounts }), parts: mixed, bytes: 2_097_152 },
    { pin: pin('pin_whole', { rowCount: 500 }), parts: whole },
    ...Array.from({ length: many }, (_, at) => ({ pin: pin(`pin_${at}`), parts: [days[at % 3] as never] })),
  ];
}

export const shown = (parts: Parameters<typeof formatPinned>[1], rowCount: number) =>
  Promise.all(
    SHAPES.map(async (shape) =>
      String(await formatPinned(format, parts, { format: shape, rowCount, bom: false })),
    ),
  );

export type Written = readonly Pin[];

/** Every pin once, with its bytes, and nothing in the old form. */
export async function expectAdopted(
  store: PinsScene,
  owner: string,
  written: Written,
  writes: readonly OldWrite[],
) {
  const pins = pinsOn(store);
  expect(await pins.list(owner)).toEqual(written);
  for (const { pin: one, parts } of writes.filter(({ pin }) => written.some(({ id }) => id === pin.id))) {
    const found = await pins.read(owner, one.id);
    expect(await shown(found?.parts ?? [], one.rowCount)).toEqual(await shown(parts, one.rowCount));
    const kept = (all: typeof parts) => all.map(({ header }) => [header.lastDay, header.accounts]);
    expect(kept((found?.parts ?? []) as never)).toEqual(kept(parts));
  }
  expect(await store.oldPins.index(owner)).toBeNull();
  const names = writes.flatMap(({ pin: { id }, parts }) => parts.map((_, at) => `${id}.${at}`));
  const left = await store.oldPins.rows(owner, names);
  expect(left.filter((one) => one !== null)).toEqual([]);
}
