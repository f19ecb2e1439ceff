/** Has the campaign report by date proven divisible by day, as the first caller would: by asking for it. */
import { expect } from 'vitest';
import { dayNumber, isoDay } from '../../src/reports/query/days.js';
import type { TestGateway } from './start-gateway.js';

const query = (from: string, to: string, more: string) =>
  `advertiserId=1&byDate=1&dateFrom=${from}&dateTo=${to}${more}`;

export const stateOf = async (gateway: TestGateway, more = '') =>
  (await gateway.services.reporting.explain('campaigns/get', query('2026-11-01', '2026-11-02', more))).policy;

/**
 * Nine final days. The proof fetches the four weeks that end with them.
 * @param last the newest day that is asked for
 * @param more of the query, beginning with `&`
 */
export async function prove(
  gateway: TestGateway,
  key: string,
  { last = '2026-11-12', more = '' }: { readonly last?: string; readonly more?: string } = {},
): Promise<void> {
  const newest = dayNumber(last) as number;
  const reply = await gateway.report(key, query(isoDay(newest - 8), last, more));
  expect(reply.status).toBe(200);
  await gateway.services.settled();
  expect((await stateOf(gateway, more)).because).toBe('proven: a day has the same numbers in every period');
}
