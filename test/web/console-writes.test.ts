/** Stopping writes by the console, and settling those of unknown outcome. */
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.js';
import type { Simulator } from '../../src/simulator/simulator-api.js';
import { MILLIONTHS } from '../../src/write-guard/types.js';
import { ADMIN_TOKEN, startGatewayAt, type TestGateway } from '../support/start-gateway.js';
import { signedIn } from './people.js';

let simulator: Simulator;
let gateway: TestGateway;
let url: string;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGatewayAt(simulator);
  await gateway.admin.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${(gateway.admin.server.address() as AddressInfo).port}/`;
  await gateway.addTeam({ id: 'growth' });
});

afterAll(async () => {
  gateway?.admin.server.closeAllConnections();
  await gateway?.close();
  await simulator?.close();
});

it('stops writes, shows it on every page, and resumes them', async () => {
  const seen = await signedIn(`${url}#/writes`, 'Admin token', ADMIN_TOKEN);
  const { page, faults } = seen;
  await page.getByRole('combobox').selectOption('growth');
  await page.getByLabel('Reason').fill('<b>a loop</b> \u202Ecreates campaigns');
  await page.getByRole('button', { name: 'Stop writes' }).click();
  const banner = page.getByText('Writes of growth are stopped');
  await banner.waitFor();
  for (const section of ['Overview', 'Teams', 'Cache', 'Credential', 'Audit']) {
    await page.getByRole('link', { name: section, exact: true }).click();
    await page.getByRole('heading', { name: section, level: 1 }).waitFor();
    expect(await banner.count()).toBe(1);
  }
  expect(await page.getByText('<b>a loop</b>').count()).toBeGreaterThan(0);
  expect(await seen.axe()).toEqual([]);
  await seen.shots('console-writes');
  await page.getByRole('button', { name: 'Resume writes' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('fixed');
  await page.getByRole('dialog').getByRole('button', { name: 'Resume writes' }).click();
  await banner.waitFor({ state: 'detached' });
  expect(await gateway.manage('GET', '/writes')).toEqual({ all: null, teams: [] });
  expect(faults).toEqual([]);
});

it('lists writes of unknown outcome, and takes down what became of each', async () => {
  const { reservations } = gateway.services;
  const route = 'POST /api/v1/campaign/create';
  const reserve = async (amount: number) => {
    const answer = await reservations.reserve({
      team: 'growth',
      route,
      amount: amount * MILLIONTHS,
      max: 1e9,
    });
    if (answer.kind === 'over') throw new Error('there was room');
    await reservations.keepUnknown(answer.reservation, 'it ended with upstream_timeout');
  };
  await reserve(2.5);
  await reserve(40);
  const seen = await signedIn(`${url}#/writes`, 'Admin token', ADMIN_TOKEN);
  const { page, faults } = seen;
  const row = (amount: string) => page.getByRole('row').filter({ hasText: amount });
  await row('2.5').getByRole('button', { name: 'It did not' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'It did not' }).click();
  await row('2.5').waitFor({ state: 'detached' });
  expect(await seen.axe()).toEqual([]);
  await row('40').getByRole('button', { name: 'It happened' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'It happened' }).click();
  await page.getByText('There is none').waitFor();
  expect((await reservations.left('growth', route, 1e9)).left).toBe(1e9 - 40 * MILLIONTHS);
  expect(faults).toEqual([]);
});
