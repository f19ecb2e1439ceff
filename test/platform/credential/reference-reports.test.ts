import { describe, expect, it } from 'vitest';
import {
  createReferenceReports,
  type StoredReferenceReport,
} from '../../../src/platform/credential/reference-reports.js';
import { type Documents, StoreUnavailable } from '../../../src/store/port.js';
import { openInMemory } from '../../support/shared-registry.js';
import { createTestClock, DAY } from '../../support/test-clock.js';

function report(account: string, rows: number): Omit<StoredReferenceReport, 'at'> {
  const target = `/api/v1/report/campaigns/get?advertiserId=${account}`;
  return { account, target, endpoint: 'campaigns/get', split: ['date'], day: '2026-11-01', rows };
}

/** The accounts and rows of what is listed. */
const seen = async ({ list }: ReturnType<typeof createReferenceReports>) =>
  (await list()).map(({ account, rows }) => `${account}:${rows}`);

describe('the referenceReports', () => {
  it('are listed cheapest first, at most five, and one of each account', async () => {
    const referenceReports = createReferenceReports((await openInMemory()).documents, createTestClock());
    for (const [index, rows] of [7, 3, 9, 5, 4, 1].entries())
      referenceReports.note(report(String(index), rows));
    referenceReports.note(report('0', 1));
    expect(await seen(referenceReports)).toEqual(['1:3', '4:4', '3:5', '0:7', '2:9']);
  });

  it('are written anew after a day, and forgotten after thirty', async () => {
    const clock = createTestClock();
    const referenceReports = createReferenceReports((await openInMemory(clock)).documents, clock);
    referenceReports.note(report('1', 3));
    clock.advance(DAY);
    referenceReports.note(report('1', 2));
    expect(await seen(referenceReports)).toEqual(['1:2']);
    clock.advance(30 * DAY);
    expect(await seen(referenceReports)).toEqual([]);
  });

  it('are shared by replicas and outlive them', async () => {
    const clock = createTestClock();
    const { documents } = await openInMemory(clock);
    const [one, two] = [createReferenceReports(documents, clock), createReferenceReports(documents, clock)];
    one.note(report('1', 3));
    two.note(report('2', 4));
    await Promise.all([one.flush(), two.flush()]);
    // Whoever was slower takes the other's in at its next turn.
    await Promise.all([one.flush(), two.flush()]);
    for (const referenceReports of [one, two, createReferenceReports(documents, clock)]) {
      expect(await seen(referenceReports)).toEqual(['1:3', '2:4']);
    }
  });

  it('write over a note that is damaged', async () => {
    const clock = createTestClock();
    const { documents } = await openInMemory(clock);
    await documents.create('credential/referenceReports', '[{', DAY);
    const referenceReports = createReferenceReports(documents, clock);
    expect(await seen(referenceReports)).toEqual([]);
    referenceReports.note(report('1', 3));
    await referenceReports.flush();
    expect(await seen(createReferenceReports(documents, clock))).toEqual(['1:3']);
  });

  it('are those of this process while the store is away', async () => {
    const clock = createTestClock();
    const away: Documents = {
      get: () => Promise.reject(new StoreUnavailable('away')),
      create: () => expect.unreachable(),
      replace: () => expect.unreachable(),
    };
    const referenceReports = createReferenceReports(away, clock);
    await referenceReports.flush();
    referenceReports.note(report('1', 3));
    expect(await seen(referenceReports)).toEqual(['1:3']);
    await expect(referenceReports.flush()).rejects.toThrow(StoreUnavailable);
  });
});
