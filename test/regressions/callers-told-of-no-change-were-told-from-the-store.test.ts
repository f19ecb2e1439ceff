/** A 304 makes no body, so nothing was kept in memory of what is asked for with `if-none-match` alone. */
import { expect, it } from 'vitest';
import { cacheOf, FINAL } from '../gateway/reports.js';
import { withGateway } from '../support/start-gateway.js';

it('a second 304 comes from memory', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  await gateway.report(key, FINAL);
  await gateway.services.settled();
  // In a form that nobody was sent yet.
  const csv = `${FINAL}&_format=csv`;
  const asks = { headers: { 'if-none-match': '*' } };
  const first = await gateway.report(key, csv, asks);
  expect([first.status, cacheOf(first)]).toEqual([304, 'hit; ttl=2592000; detail=store']);
  await gateway.services.settled();
  const second = await gateway.report(key, csv, asks);
  expect([second.status, cacheOf(second)]).toEqual([304, 'hit; ttl=2592000; detail=l1']);
});
