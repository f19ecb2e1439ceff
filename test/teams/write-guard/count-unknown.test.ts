/** The metrics of writes: how many stops are in force, and how many writes wait to be settled. */
import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import { countUnknown } from '../../../src/teams/write-guard/create-write-guard.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { withGateway } from '../../support/start-gateway.js';
import { waitFor } from '../../support/wait-for.js';

it('of a gateway are those of its store and its registry', async () => {
  const gateway = await withGateway();
  const { metrics, reservations, unknownWrites } = gateway.services;
  await gateway.addTeam({ id: 'growth' });
  const shown = async (name: string) =>
    new RegExp(`^dsp_gateway_writes_${name} (\\d+)$`, 'm').exec(await metrics.registry.metrics())?.[1];
  await waitFor('the first look', async () => (await shown('unknown')) === '0');
  expect(await shown('stopped')).toBe('0');
  const made = await reservations.reserve({ team: 'growth', route: 'POST /x', amount: 1, max: null });
  if (made.kind === 'over') throw new Error('there was room');
  await reservations.keepUnknown(made.reservation, 'it ended with upstream_timeout');
  await unknownWrites.look();
  expect(await shown('unknown')).toBe('1');
  await gateway.manage('POST', '/writes/stop', { reason: 'a loop' });
  await gateway.manage('POST', '/writes/stop', { team: 'growth', reason: 'a loop' });
  expect(await shown('stopped')).toBe('2');
});

it('say nothing while the store does not tell, and again what it tells when it does', async () => {
  let answer: () => never[] = () => [];
  const log = createRecordedLog();
  const counted = countUnknown({ unknown: async () => answer() }, log.logger);
  await counted.look();
  expect(counted.count()).toBe(0);
  answer = () => {
    throw new StoreUnavailable('away');
  };
  await counted.look();
  expect(counted.count()).toBeNull();
  expect(log.lines).toEqual([]);
  answer = () => {
    throw new Error('a fault of the program');
  };
  await counted.look();
  expect(log.lines).toMatchObject([{ level: 'error' }]);
  answer = () => [];
  await counted.look();
  expect(counted.count()).toBe(0);
  await counted.stop();
});
