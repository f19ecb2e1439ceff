/** Keys that people made for themselves, as operators and viewers see and end them. */
import { expect, it } from 'vitest';
import { issue } from '../../src/api/admin/keys.js';
import { GATEWAY_ACTOR } from '../../src/telemetry/audit.js';
import { ask } from '../support/ask.js';
import { ADMIN_TOKEN } from '../support/start-gateway.js';
import { openCompany } from './company.js';
import { signedIn, VIEWER, viewerAs } from './people.js';

const HOSTILE = '<img src=x onerror=alert(1)>';

async function openMade() {
  const opened = await openCompany({ auth: await viewerAs() });
  const { services } = opened.gateway;
  const make = async (sub: string, name: string, labels: readonly string[]) => {
    const from = { issuer: opened.provider.issuer, sub, claims: { name, groups: ['data'] } };
    const { id: maker } = await services.persons.signIn(from);
    const given = { teamId: 'data', maker, scopes: ['report:read'] as const };
    const expiresAt = new Date(Date.now() + 9 * 86_400_000).toISOString();
    const keys = [];
    for (const label of labels)
      keys.push((await issue({ ...given, label, expiresAt }, GATEWAY_ACTOR, services)).text);
    return keys;
  };
  const keys = {
    ada: await make('ada', 'Ada Lovelace', ['notebook', 'sheet']),
    other: await make('other', HOSTILE, ['tool']),
  };
  const me = `${new URL(opened.explorer).origin}/gateway/v1/me`;
  const statusBy = async (key: string) => (await ask(me, { key })).status;
  return { ...opened, keys, statusBy };
}

it('an operator sees keys by person, and revokes all of one after a confirmation', async () => {
  const { console, keys, statusBy } = await openMade();
  const { page, shots, faults } = await signedIn(`${console}#/teams`, 'Admin token', ADMIN_TOKEN);
  const people = page.getByRole('region', { name: 'Keys of people' });
  await people.getByText('Ada Lovelace').waitFor();
  const listed = people.getByRole('row').filter({ hasText: 'Ada Lovelace' }).getByRole('listitem');
  expect((await listed.allTextContents()).sort()).toEqual([
    'notebook of Data platform',
    'sheet of Data platform',
  ]);
  // A person makes another one himself.
  const ending = page.getByRole('region', { name: 'Keys that expire or are not used' });
  expect(await ending.getByRole('listitem').count()).toBe(3);
  expect(await ending.getByRole('button').count()).toBe(0);
  await shots('console-person-keys');
  const revoke = page.getByRole('button', { name: 'Revoke all keys of Ada Lovelace' });
  await revoke.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('refuse 2 keys of Ada Lovelace').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  expect(await statusBy(keys.ada[0] as string)).toBe(200);
  await revoke.click();
  await shots('console-person-keys-revoke');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke all' }).click();
  await page.getByText('All keys of Ada Lovelace are revoked').waitFor();
  await revoke.waitFor({ state: 'detached' });
  expect(await Promise.all([...keys.ada, ...keys.other].map(statusBy))).toEqual([401, 401, 200]);
  await page.getByRole('link', { name: 'Audit' }).click();
  await page
    .getByText(
      /^admin revoked the key sheet \S+… of Data platform \(data\), made by Ada Lovelace \(person_\w+\)$/,
    )
    .waitFor();
  expect(faults).toEqual([]);
});

it('an operator sees who made a key of a team, and does not roll it', async () => {
  const { console } = await openMade();
  const { page, shots } = await signedIn(`${console}#/teams/data`, 'Admin token', ADMIN_TOKEN);
  const row = page.getByRole('row').filter({ hasText: 'tool' });
  await row.getByText(HOSTILE).waitFor();
  expect(await row.getByRole('button').allTextContents()).toEqual(['Revoke']);
  await shots('console-team-person-keys');
});

it('a viewer sees keys by person, and revokes none', async () => {
  const { console } = await openMade();
  const { page } = await signedIn(`${console}#/teams`, 'Admin token', VIEWER);
  await page.getByRole('region', { name: 'Keys of people' }).getByText('Ada Lovelace').waitFor();
  expect(await page.getByRole('button', { name: /^Revoke/ }).count()).toBe(0);
});
