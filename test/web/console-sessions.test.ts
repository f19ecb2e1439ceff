/** Open sessions, as operators see and end them. */
import { expect, it } from 'vitest';
import { createSessions } from '../../src/teams/sessions/sessions.js';
import { ask } from '../support/ask.js';
import { ADMIN_TOKEN } from '../support/start-gateway.js';
import { openCompany } from './company.js';
import { signedIn, VIEWER, viewerAs } from './people.js';

/** Ada has two sessions of the explorer. */
async function openWithPeople() {
  const opened = await openCompany({ auth: await viewerAs() });
  const { services } = opened.gateway;
  const claims = { name: 'Ada Lovelace', groups: ['data'] };
  const { id } = await services.persons.signIn({ issuer: opened.provider.issuer, sub: 'ada', claims });
  const { origin, host } = new URL(opened.explorer);
  const sessions = createSessions('dgw_explorer', services.store, services.clock);
  const signIn = async () => {
    const held = { holder: id, proof: id, isPerson: true as const, team: 'data' };
    const { id: cookie } = await sessions.open(held, { host, ownOrigin: origin });
    return async () => {
      const headers = { cookie: `dgw_explorer=${cookie}` };
      return (await ask(`${origin}/gateway/v1/session`, { headers })).status;
    };
  };
  return { ...opened, statuses: [await signIn(), await signIn()] };
}

it('an operator sees who is signed in, and ends one session, or all of a person, after a confirmation', async () => {
  const { console, statuses } = await openWithPeople();
  const statusNow = () => Promise.all(statuses.map((statusOf) => statusOf()));
  const { page, shots, faults } = await signedIn(`${console}#/sessions`, 'Admin token', ADMIN_TOKEN);
  await page.getByRole('heading', { name: '3 open sessions' }).waitFor();
  const ada = page.getByRole('row').filter({ hasText: 'Ada Lovelace' });
  expect(await ada.first().getByRole('cell').nth(1).textContent()).toBe('explorer as data');
  const own = page.getByRole('row').filter({ hasText: 'you, here' });
  expect(await own.getByRole('cell').nth(0).textContent()).toBe('admin you, hereadmin token');
  expect(await own.getByRole('button').count()).toBe(0);
  await shots('console-sessions');
  const all = ada.first().getByRole('button', { name: 'End all sessions of Ada Lovelace' });
  await all.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('refuses 2 sessions of Ada Lovelace').waitFor();
  await shots('console-sessions-end');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  expect(await statusNow()).toEqual([200, 200]);
  await ada.first().getByRole('button', { name: 'End the session of Ada Lovelace, explorer' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click();
  await page.getByRole('heading', { name: '2 open sessions' }).waitFor();
  await expect.poll(async () => (await statusNow()).sort()).toEqual([200, 401]);
  expect(await page.getByRole('button', { name: /^End all/ }).count()).toBe(0);
  expect(faults).toEqual([]);
});

it('an operator ends all sessions of a person at once', async () => {
  const { console, statuses } = await openWithPeople();
  const { page, faults } = await signedIn(`${console}#/sessions`, 'Admin token', ADMIN_TOKEN);
  await page.getByRole('button', { name: 'End all sessions of Ada Lovelace' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'End all' }).click();
  await page.getByText('All sessions of Ada Lovelace have ended.').waitFor();
  await page.getByRole('heading', { name: '1 open session' }).waitFor();
  await expect.poll(() => Promise.all(statuses.map((statusOf) => statusOf()))).toEqual([401, 401]);
  await page.getByRole('link', { name: 'Audit' }).click();
  await page
    .getByText(/^admin ended a session of person_\w+$/)
    .first()
    .waitFor();
  expect(faults).toEqual([]);
});

it('a viewer sees who is signed in, and ends no session', async () => {
  const { console } = await openWithPeople();
  const { page } = await signedIn(`${console}#/sessions`, 'Admin token', VIEWER);
  await page.getByText('Ada Lovelace').first().waitFor();
  expect(await page.getByRole('button', { name: /^End (the|all)/ }).count()).toBe(0);
});
