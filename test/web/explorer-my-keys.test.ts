/** Keys that people make for themselves in the explorer. */
import type { Page, Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { ask } from '../support/ask.js';
import { openCompany, signInAs, visitCompany } from './company.js';
import { expectCopied } from './people.js';

async function openKeys(login = 'ada') {
  const opened = await openCompany();
  const seen = await visitCompany(`${opened.explorer}#/keys`);
  await signInAs(seen.page, login);
  await seen.page.getByRole('button', { name: 'Sign out' }).waitFor();
  // Of the provider's pages.
  seen.forgive();
  const codeBy = async (key: string) => {
    const answer = await ask(`${new URL(opened.explorer).origin}/gateway/v1/me`, { key });
    return answer.status === 200 ? 200 : answer.json<{ code: string }>().code;
  };
  return { ...opened, ...seen, codeBy };
}

const dialog = (page: Page) => page.getByRole('dialog');
const shownKey = (page: Page) => page.getByLabel('Key', { exact: true }).inputValue();
/** Closes the dialog of a new key. */
const have = (page: Page) => page.getByRole('button', { name: 'I have it' }).click();

it('a person makes a key by keyboard, sees it once with an example, and it works', async () => {
  const { page, context, shots, faults, codeBy, explorer } = await openKeys();
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('heading', { name: '0 of 5 keys' }).waitFor();
  await page.getByText('They work for 30 days after your last sign-in here.').waitFor();
  await page.getByText('You have no valid key.').waitFor();
  await shots('my-keys-none');
  await page.getByRole('button', { name: 'Make a key' }).focus();
  await page.keyboard.press('Enter');
  await dialog(page).getByText('Its scopes: report:read.').waitFor();
  await shots('my-keys-make');
  await page.keyboard.type('notebook');
  await page.keyboard.press('Tab');
  await page.keyboard.type('7');
  await page.keyboard.press('Enter');
  await page.getByText('This key is shown only once').waitFor();
  const key = await shownKey(page);
  await expect
    .poll(() => dialog(page).locator('pre').textContent())
    .toContain(`${new URL(explorer).origin}/gateway/v1/me`);
  await shots('my-keys-shown');
  await expectCopied(page).toBe(key);
  await have(page);
  expect(await codeBy(key)).toBe(200);
  const cells = page.getByRole('row').nth(1).getByRole('cell');
  await expect
    .poll(() => cells.allTextContents())
    .toMatchObject({
      1: 'Data platform',
      2: 'report:read',
      3: 'valid',
      5: expect.stringMatching(/^in (6 d 23 h|7 d)$/),
    });
  expect(await cells.nth(0).textContent()).toBe(`notebook${key.slice(0, 10)}…`);
  await page.reload();
  await page.getByRole('heading', { name: '1 of 5 keys' }).waitFor();
  expect(await page.content()).not.toContain(key);
  await shots('my-keys');
  expect(faults).toEqual([]);
});

it('a person reads at the field that a key lasts too long', async () => {
  const { page, forgive, faults } = await openKeys();
  await page.getByRole('button', { name: 'Make a key' }).click();
  const days = page.getByRole('spinbutton', { name: /^Days/ });
  await days.fill('91');
  await days.press('Enter');
  await dialog(page).getByText('must be a whole number from 1 to 90').waitFor();
  forgive();
  await days.fill('');
  await days.press('Enter');
  await page.getByText('This key is shown only once').waitFor();
  expect(faults).toEqual([]);
});

it('a person rolls a key at once, and revokes it after a confirmation', async () => {
  const { page, faults, codeBy } = await openKeys();
  await page.getByRole('button', { name: 'Make a key' }).click();
  await dialog(page)
    .getByRole('textbox', { name: /^Label/ })
    .fill('<i>mine</i>');
  await dialog(page).getByRole('button', { name: 'Make a key' }).click();
  const first = await shownKey(page);
  await have(page);
  await page.getByRole('button', { name: 'Roll <i>mine</i>' }).click();
  await dialog(page).getByRole('combobox').selectOption('0');
  await dialog(page).getByRole('button', { name: 'Roll', exact: true }).click();
  await page.getByText('This key is shown only once').waitFor();
  const next = await shownKey(page);
  await have(page);
  expect([await codeBy(first), await codeBy(next)]).toEqual(['expired_api_key', 200]);
  const revoke = page.getByRole('button', { name: 'Revoke <i>mine</i>' });
  await revoke.click();
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();
  expect(await codeBy(next)).toBe(200);
  await revoke.click();
  await dialog(page).getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('The key is revoked').waitFor();
  await page.getByRole('heading', { name: '0 of 5 keys' }).waitFor();
  expect(await codeBy(next)).toBe('revoked_api_key');
  await page.getByRole('button', { name: 'Show 1 revoked or expired' }).click();
  await page.getByRole('cell', { name: 'revoked' }).waitFor();
  expect(faults).toEqual([]);
});

it('a person reads why a valid key of his is refused', async () => {
  const { page, shots } = await openKeys();
  await page.getByRole('button', { name: 'Make a key' }).click();
  await dialog(page).getByRole('button', { name: 'Make a key' }).click();
  await have(page);
  const refusals = ['long-ago', 'not-allowed', 'team-disabled'];
  const refused = async (route: Route) => {
    const { keys, ...rest } = await (await route.fetch()).json();
    const all = refusals.map((why, at) => ({ ...keys[0], id: `key_${at}`, label: why, refused: why }));
    await route.fulfill({ json: { ...rest, keys: all } });
  };
  await page.route('**/gateway/v1/keys', refused, { times: 1 });
  await page.reload();
  for (const words of ['sign in again', 'no longer allowed', 'team disabled'])
    await page.getByRole('cell', { name: words }).waitFor();
  await shots('my-keys-refused');
});

it('a person who may have no keys has no such page', async () => {
  const { page } = await openKeys('two');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('There is no page “keys”.').waitFor();
  expect(await page.getByRole('link', { name: 'My keys' }).count()).toBe(0);
  await page.getByRole('main').getByRole('link', { name: 'Report' }).click();
  await page.getByRole('heading', { name: 'Report', level: 1 }).waitFor();
});
