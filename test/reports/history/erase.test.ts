/** What was known of an advertiser is erased: at once for whoever asks, and by and by in the store. */
import { expect, it } from 'vitest';
import { createPurges } from '../../../src/reports/cache/purges.js';
import { daysOfMonth, eraseHistory } from '../../../src/reports/history/erase.js';
import { createErasures } from '../../../src/reports/history/erasures.js';
import { readDays } from '../../../src/reports/history/read.js';
import { headsIn } from '../../../src/reports/history/revision.js';
import type { HistoryStore } from '../../../src/store/history-port.js';
import { openReplica } from '../../support/shared-registry.js';
import { HOUR, NOON } from '../../support/test-clock.js';
import { dayOf, openHistory, recorderOn } from './on-disk.js';

const DATE = '2026-11-01';

async function scene() {
  const store = await openHistory();
  const { registry } = await openReplica(store);
  const purges = createPurges(registry);
  const erasures = createErasures(registry, purges);
  const { record, events } = recorderOn(store.history, erasures.isErased);
  return {
    ...{ history: store.history, registry, purges, erasures, events },
    /** A report that names `asked`, whose rows name `held`, fetched now as far as purges are concerned. */
    record: (series: string, asked: readonly string[], held: readonly string[], atMs = NOON) =>
      record({ series, asked, days: [dayHolding(held, purges.seq, atMs)] }),
    erase: (advertiserId: string) => erasures.append(advertiserId, NOON, 'audit'),
    remove: () => eraseHistory({ store: store.history, isErased: erasures.isErased }, () => false),
    left: () => seriesLeft(store.history),
  };
}

function dayHolding(held: readonly string[], seq: number, atMs: number) {
  const { header, body } = dayOf(DATE, atMs, atMs);
  return { header: { ...header, accounts: held, seq }, body };
}

/** Revisions of each series, with what is kept of their rows. */
async function seriesLeft(history: HistoryStore): Promise<Record<string, number>> {
  const left: Record<string, number> = {};
  for (const { series, month } of await history.months(null, 100)) {
    const heads = await history.heads(series, daysOfMonth(month));
    const revisions = heads.flatMap((one) => headsIn(one).revisions);
    const wanted = revisions.map(({ id }) => ({ day: DATE, name: id }));
    const contents = await history.contents(series, wanted);
    expect(contents.every((one) => one !== null)).toBe(true);
    left[series] = revisions.length;
  }
  return left;
}

it('of reports that name it, and of those whose rows do, or may: no others', async () => {
  const { record, erase, remove, left } = await scene();
  await record('asked', ['1'], []);
  await record('among others', ['2', '1'], []);
  await record('held', [], ['1', '2']);
  await record('held by a report of another', ['2'], ['1']);
  await record('of nobody', [], []);
  await record('another', ['2'], ['2']);
  await record('of all but this', [], ['2', '3']);
  await erase('1');
  expect(await remove()).toBe(5);
  expect(await left()).toEqual({ another: 1, 'of all but this': 1 });
  expect(await remove()).toBe(0);
});

it('an append under way cannot bring it back, and one of a later fetch is kept', async () => {
  const { record, erase, remove, left, purges, events, history, erasures } = await scene();
  const before = purges.seq;
  await record('s', ['1'], ['1']);
  await erase('1');
  await remove();
  // Asked before the erasure, written after it.
  const late = recorderOn(history, erasures.isErased);
  await late.record({ series: 's', asked: ['1'], days: [dayHolding(['1'], before, NOON + HOUR)] });
  expect(late.events).toEqual({ erased: 1 });
  expect(await left()).toEqual({});
  // A replica that had not heard of it wrote all the same: nobody is shown it, and the next pass removes it alone.
  const deaf = recorderOn(history, () => false);
  await deaf.record({ series: 's', asked: ['1'], days: [dayHolding(['1'], before, NOON + HOUR)] });
  await record('s', ['1'], ['1'], NOON + 2 * HOUR);
  expect(await left()).toEqual({ s: 2 });
  const readable = { store: history, isErased: erasures.isErased, enabled: true };
  const at = (atMs: number) =>
    readDays(readable, { series: 's', dates: [DATE], generation: 'g', moment: { at: atMs } });
  await expect(at(NOON + HOUR)).rejects.toMatchObject({ code: 'not_known_then' });
  expect((await at(NOON + 2 * HOUR))[0]?.entry.header.rowCount).toBe(1);
  expect(await remove()).toBe(1);
  expect(await left()).toEqual({ s: 1 });
  expect(events).toEqual({ appended: 2 });
});

it('is closed by its number, and goes by the time where the registry is another', async () => {
  const { erase, erasures, purges } = await scene();
  await erase('1');
  await erase('2');
  const open = erasures.open();
  expect(open.map(({ advertiserId }) => advertiserId)).toEqual(['1', '2']);
  await erasures.close(open.slice(0, 1));
  expect(erasures.open()).toEqual(open.slice(1));
  const kept = { asked: ['1'], held: [], rowCount: 1 };
  const elsewhere = purges.seq + 2 ** 22;
  expect(erasures.isErased({ ...kept, seq: purges.seq, fetchedFrom: NOON - 1 })).toBe(false);
  expect(erasures.isErased({ ...kept, seq: elsewhere, fetchedFrom: NOON })).toBe(true);
  expect(erasures.isErased({ ...kept, seq: elsewhere, fetchedFrom: NOON + 1 })).toBe(false);
});
