/** Pins on a store, and the old form of pins, as an earlier release wrote it. */
import { encodeEntry } from '../../../src/reports/cache/entry.js';
import { formatRows } from '../../../src/reports/cache/threads/tasks.js';
import { createOldPins, type OldPin } from '../../../src/reports/history/old-pins.js';
import type { Pin } from '../../../src/reports/history/pin-index.js';
import { createPins } from '../../../src/reports/history/pins.js';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import type { HistoryContent } from '../../../src/store/history-port.js';
import type { Store } from '../../../src/store/port.js';
import { createRecordedLog } from '../../support/recorded-log.js';

export function pinsOn({ pins: store, oldPins }: Pick<Store, 'pins' | 'oldPins'>) {
  const log = createRecordedLog();
  const format = async (task: Parameters<typeof formatRows>[0]) => formatRows(task);
  const old = createOldPins({ store: oldPins, pins: store, format, logger: log.logger });
  return { ...createPins({ store, old, isErased: () => false }), log };
}

export const pin = (id: string, more: Partial<Pin> = {}): Omit<Pin, 'bytes'> => ({
  ...{ id, createdAt: 1, note: null, endpoint: 'campaigns/get', query: '', series: 's' },
  ...{ from: null, to: null, account: null, split: [], revision: null, knownAt: 1, final: false },
  ...{ rowCount: 1, named: [], held: [], seq: 0, fetchedFrom: 1, format: 1 },
  ...more,
});

/** Fixed day under which earlier releases stored an index. */
export const PLACE = '2000-01-01';

export interface OldWrite {
  readonly pin: Omit<Pin, 'bytes'>;
  readonly parts: readonly Entry<RowsHeader>[];
}

/** Writes pins of an owner, which has none yet, as an earlier release did. @returns them as they must be listed */
export async function writeOld({ oldPins }: Pick<Store, 'oldPins'>, owner: string, all: readonly OldWrite[]) {
  const added = new Map<string, HistoryContent>();
  const pins: OldPin[] = all.map(({ pin: one, parts }) => {
    let bytes = 0;
    for (const [at, { header, body }] of parts.entries()) {
      const version = header.fetchStartedAt;
      const encoded = encodeEntry({ id: `p1:{${owner}}:${one.id}:${at}`, version, header, body });
      added.set(`${one.id}.${at}`, { version, ...encoded });
      bytes += encoded.header.length + encoded.body.length;
    }
    return { ...one, parts: parts.length, bytes };
  });
  const heads = Buffer.from(JSON.stringify({ form: 1, pins }));
  const [made] = await oldPins.write(owner, [{ day: PLACE, stamp: 0, heads, added, removed: [] }]);
  if (made !== true) throw new Error(`${owner} has old pins already`);
  return pins.map(({ parts: _, ...one }) => one);
}
