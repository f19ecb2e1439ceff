/** A history in a folder of its own, with days as fetches bring them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createDays, type Days, type DaysOptions } from '../../../src/reports/days/days.js';
import { encodePart } from '../../../src/reports/days/part.js';
import type { Erasures } from '../../../src/reports/history/erasures.js';
import type { StatesWanted } from '../../../src/reports/history/read.js';
import {
  createRecorder,
  type FetchedDays,
  type HistoryEvent,
  markCut,
  markMissed,
  record,
} from '../../../src/reports/history/record.js';
import { dayNumber } from '../../../src/reports/query/days.js';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import type { DaysStore } from '../../../src/store/days-port.js';
import { createEmbeddedStore } from '../../../src/store/embedded/embedded-store.js';
import { createTestLog } from '../../store/test-log.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { createStandingClock, NOON } from '../../support/test-clock.js';
import { REPORT } from '../days/fetches.js';
import { COUNTING, RULES, rowsEntry } from '../rows/entries.js';

export async function openHistory() {
  const dataDir = await mkdtemp(join(tmpdir(), 'dgw-history-'));
  const clock = createStandingClock();
  const store = await createEmbeddedStore({
    dataDir,
    cacheMaxBytes: 16_777_216,
    clock,
    logger: createTestLog(),
  });
  onTestFinished(async () => {
    await store.close();
    await rm(dataDir, { recursive: true });
  });
  return { ...store, clock };
}

/** Days as a process has them. */
export function daysOn(store: DaysStore, more: Partial<DaysOptions> = {}): Days {
  const { logger } = createRecordedLog();
  const days = createDays({
    store,
    logger,
    now: () => NOON,
    onDamaged: () => {},
    encode: async (some) => encodePart(some),
    ...more,
  });
  // Fetches of these tests are of other days than the clock of the machine.
  return { ...days, clockUs: () => Number.MAX_SAFE_INTEGER };
}

interface Asked {
  readonly asked: readonly string[];
  readonly isRecorded: boolean;
}

export function recorderOn(days: Days, isErased: Erasures['isErased'] = () => false) {
  const events: Partial<Record<HistoryEvent, number>> = {};
  const schema: Record<string, number> = {};
  const log = createRecordedLog();
  const recorder = createRecorder({
    days,
    isErased,
    credential: () => 'token',
    count(name, labels, by = 1) {
      const [of] = Object.values<string>(labels);
      const counts = { report_columns_changed: schema, history_days: events }[name as 'history_days'];
      if (by > 0 && counts !== undefined) counts[of as HistoryEvent] = (counts[of as HistoryEvent] ?? 0) + by;
    },
    logger: log.logger,
  });
  return {
    record: (fetched: Omit<FetchedDays, 'order'> & Partial<Asked>) => {
      const order = Math.max(...fetched.days.map(({ header }) => header.fetchStartedAt)) * 1000;
      return record(recorder, {
        asked: ['1'],
        isRecorded: true,
        report: REPORT,
        tells: () => 'g',
        order,
        ...fetched,
        rules: RULES,
        counting: COUNTING,
      });
    },
    markCut: (cut: StatesWanted) => markCut(recorder, cut),
    markMissed: (series?: string) => markMissed(recorder, series),
    events,
    schema,
    log,
  };
}

/** @param atMs end of the fetch */
export function dayOf(date: string, spent: number, atMs: number): Entry<RowsHeader> {
  return rowsEntry([{ date, spent }], {
    lastDay: date,
    fetchStartedAt: atMs - 20,
    fetchedAt: atMs,
    fetchedOn: (dayNumber(date) as number) + 3,
    splitFrom: { from: date, to: date, sortedHash: `rows-${spent}`, generation: 'g' },
  });
}
