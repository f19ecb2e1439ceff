/** Brings the campaign report by date through learning and probation, as callers would: by asking for ranges. */
import { expect } from 'vitest';
import { dayNumber, isoDay } from '../../src/reports/query/days.js';
import type { TestGateway } from './start-gateway.js';

const query = (from: string, to: string, more: string) =>
  `advertiserId=1&byDate=1&dateFrom=${from}&dateTo=${to}${more}`;

export const stateOf = async (gateway: TestGateway, more = '') =>
  (await gateway.services.reporting.explain('campaigns/get', query('2026-11-01', '2026-11-02', more))).policy;

/**
 * Ranges of growing lengths with falling ends, of final days only.
 * @param last the newest day that is asked for
 * @param more of the query, beginning with `&`
 */
export async function prove(
  gateway: TestGateway,
  key: string,
  { last = '2026-11-12', more = '' }: { readonly last?: string; readonly more?: string } = {},
): Promise<void> {
  const newest = dayNumber(last) as number;
  for (let step = 0; step < 10; step++) {
    const [from, to] = [newest - 8 - 2 * step, newest - step];
    const reply = await gateway.report(key, query(isoDay(from), isoDay(to), more));
    expect(reply.headers['cache-status']).toBe('dsp-gateway; fwd=miss; stored');
    await gateway.services.settled();
    const { because } = await stateOf(gateway, more);
    if (because === 'proven divisible by day') return;
  }
  expect((await stateOf(gateway, more)).because).toBe('proven divisible by day');
}
