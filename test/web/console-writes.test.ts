/** Writes by the console: guarding them, stopping them, and settling those of unknown outcome. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { MILLIONTHS } from '../../src/teams/write-guard/amount.js';
import { CAMPAIGN } from '../support/campaign.js';
import { openGateway } from '../support/open-gateway.js';
import { ADMIN_TOKEN, type TestGateway } from '../support/start-gateway.js';
import { signedIn } from './people.js';

let gateway: TestGateway;
let url: string;

beforeAll(async () => {
  const opened = await openGateway();
  gateway = opened.inside;
  url = `${opened.gateway.admin}/`;
  await gateway.addTeam({ id: 'growth' });
});

it('stops writes, shows it on every page, and resumes them', async () => {
  const seen = await signedIn(`${url}#/writes`, 'Admin token', ADMIN_TOKEN);
  const { page, faults } = seen;
  await page.getByRole('button', { name: 'Stop writes of all teams' }).waitFor();
  await page.getByRole('combobox').selectOption('growth');
  await page.getByLabel('Reason').fill('<b>a loop</b> \u202Ecreates campaigns');
  await page.getByRole('button', { name: 'Stop writes of this team' }).click();
  const banner = page.getByText('Writes of growth are stopped');
  await banner.waitFor();
  for (const section of ['Overview', 'Teams', 'Cache', 'Credential', 'Audit']) {
    await page.getByRole('link', { name: section, exact: true }).click();
    await page.getByRole('heading', { name: section, level: 1 }).waitFor();
    expect(await banner.count()).toBe(1);
  }
  expect(await page.getByText('<b>a loop</b>').count()).toBeGreaterThan(0);
  await page.getByRole('link', { name: 'Writes', exact: true }).click();
  await page.getByRole('heading', { name: 'Stop writes' }).waitFor();
  await seen.shots('console-writes');
  await page.getByRole('button', { name: 'Resume writes' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('fixed');
  await page.getByRole('dialog').getByRole('button', { name: 'Resume writes' }).click();
  await banner.waitFor({ state: 'detached' });
  expect(await gateway.manage('GET', '/writes')).toEqual({ all: null, teams: [], refused: [] });
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
  await row('2.5').getByRole('button', { name: 'Not executed' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Not executed' }).click();
  await row('2.5').waitFor({ state: 'detached' });
  await seen.shots('console-writes-unknown');
  await row('40').getByRole('button', { name: 'Executed', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Executed', exact: true }).click();
  await page.getByText('None: the outcome').waitFor();
  expect((await reservations.left('growth', route, 1e9)).left).toBe(1e9 - 40 * MILLIONTHS);
  expect(faults).toEqual([]);
});

const CREATE = 'POST /api/v1/campaign/create';

/** Each with what it is called, and what is wrong with it. */
const wrongFields = (page: Page) => page.locator('.field', { has: page.locator('.fault') }).allInnerTexts();

it('guards the writes of a team: what is wrong is told at its field, then it is in force and shown with its day', async () => {
  const key = await gateway.addTeam({ id: 'guarded', name: 'Guarded' });
  const create = async (total: number) => {
    const json = { ...CAMPAIGN, budget: { daily: 10, total } };
    return (await gateway.call(CREATE.slice(5), { method: 'POST', key, json })).status;
  };
  const { page, shots, faults, forgive } = await signedIn(
    `${url}#/teams/guarded`,
    'Admin token',
    ADMIN_TOKEN,
  );
  await page.getByText('The team has no write guard').waitFor();
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByRole('radio', { name: /^Guarded/ }).check();
  const rule = page.getByRole('group', { name: 'Rule 1' });
  const type = (label: RegExp, text: string) => rule.getByRole('textbox', { name: label }).fill(text);
  const save = () => page.getByRole('button', { name: 'Save' }).click();
  await type(/^Path/, '/api/v1/campaign/create');
  await type(/^Budget field/, 'budget.total');
  await type(/^Maximum per call/, '1,000');
  await rule.getByRole('button', { name: 'Add an amount limit' }).click();
  await type(/^Maximum$/, '-1');
  await save();
  await page.getByText('Not saved: correct the fields in red.').waitFor();
  const wrong = (await wrongFields(page)).map((text) => text.replaceAll(/\s+/g, ' '));
  expect(wrong).toEqual([
    expect.stringMatching(/^Budget field .* must be a place in the body, e.g. body.budget.total$/),
    'Maximum per call must be a number from 0 to 9007199254',
    expect.stringMatching(/^Amount field must be a place in the body/),
    'Maximum must be a number from 0 to 9007199254',
  ]);
  await expect
    .poll(() => page.evaluate('document.activeElement.closest("label").innerText'))
    .toMatch(/^Budget field/);
  await shots('console-guard-wrong');
  forgive();
  await type(/^Budget field/, 'body.budget.total');
  await type(/^Maximum per call/, '1000');
  await type(/^Maximum per day/, '1500.5');
  await type(/^Currency Currency/, 'EUR');
  await type(/^Amount field/, 'body.bid');
  await type(/^Maximum(?! per)/, '5');
  await type(/^Allowed fields/, 'userId\nbudget');
  await page.getByRole('button', { name: 'Add a route' }).click();
  const second = page.getByRole('group', { name: 'Rule 2' });
  await second.getByRole('textbox', { name: /^Path/ }).fill('/api/v1/campaign/create');
  await save();
  // The form's own: a guard cannot hold a route twice.
  await expect.poll(() => page.getByText('is in two rules').count()).toBe(2);
  await second.getByRole('combobox', { name: 'Method' }).selectOption('PATCH');
  await second.getByRole('textbox', { name: /^Path/ }).fill('/api/v1/campaign/*');
  await save();
  await page.getByText('must have budget or amounts').waitFor();
  // What contradicts is told at the field, too: the bid is not among those that the body may have.
  await page.getByText('must start with a member of allowFields: add bid').waitFor();
  forgive();
  await page.getByRole('button', { name: 'Remove rule 2' }).click();
  await type(/^Allowed fields/, Object.keys(CAMPAIGN).join('\n'));
  await shots('console-guard-form');
  await save();
  const shown = page.getByRole('region', { name: CREATE });
  await shown.getByText('at most 1,500.5 EUR').waitFor();
  expect([await create(1000.5), await create(900)]).toEqual([422, 201]);
  await page.reload();
  await shown.getByText(/^900 EUR used on 2026-11-21, 600.5 EUR left$/).waitFor();
  await shots('console-guard');
  await page.getByRole('link', { name: 'Writes', exact: true }).click();
  const spent = page.getByRole('list', { name: 'Spent today, of the budget' });
  await expect
    .poll(() => spent.getByRole('listitem').allTextContents())
    .toEqual([`Guarded ${CREATE}900 of 1,500.5 EUR`]);
  const refused = page.getByRole('region', { name: 'Refused writes, last 40 days' });
  await expect
    .poll(() => refused.getByRole('row').nth(1).textContent())
    .toMatch(new RegExp(`UTCGuarded \\(guarded\\)${CREATE}limit of a call budget.maxPerCall`));
  await shots('console-writes-spent');
  expect(faults).toEqual([]);
});

it('keeps the guard of a team of which something else is changed, and takes it away where that is said', async () => {
  const writeGuard = {
    [CREATE]: { budget: { field: 'body.budget.total', maxPerCall: 0.000001 }, requireIdempotencyKey: false },
    'DELETE /api/v1/campaign/*': { amounts: [{ field: 'body.a', max: 1 }], allowFields: ['a'] },
  };
  await gateway.addTeam({ id: 'kept', writeGuard });
  const { page, faults } = await signedIn(`${url}#/teams/kept?form=edit`, 'Admin token', ADMIN_TOKEN);
  await page.getByRole('textbox', { name: /^Name/ }).fill('Renamed');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Renamed' }).waitFor();
  expect(await gateway.manage('GET', '/teams/kept')).toMatchObject({ name: 'Renamed', writeGuard });
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByRole('button', { name: 'Remove rule 2' }).click();
  await page.getByRole('button', { name: 'Remove rule 1' }).click();
  await page.getByText('Without rules every write is refused.').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Every write is refused: the guard has no routes.').waitFor();
  expect(await gateway.manage('GET', '/teams/kept')).toMatchObject({ writeGuard: {} });
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByRole('radio', { name: /^Not guarded/ }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The team has no write guard').waitFor();
  expect(await gateway.manage('GET', '/teams/kept')).not.toHaveProperty('writeGuard');
  expect(faults).toEqual([]);
});

it('leaves alone a guard that another release wrote', async () => {
  await gateway.addTeam({
    id: 'later',
    writeGuard: { [CREATE]: { amounts: [{ field: 'body.bid', max: 1 }] } },
  });
  const { registry } = gateway.services;
  const record = JSON.parse(registry.get('team/later')?.value ?? '');
  const writeGuard = { [CREATE]: { callsPerDay: 3 } };
  const text = JSON.stringify({ ...record, writeGuard });
  await registry.commit({ writes: new Map([['team/later', text]]), audit: [] });
  const { page, faults } = await signedIn(`${url}#/teams/later`, 'Admin token', ADMIN_TOKEN);
  await page.getByText('has rules that this release does not know: it refuses').waitFor();
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByText('It stays unchanged.').waitFor();
  await page.getByRole('textbox', { name: /^Name/ }).fill('Renamed');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Renamed' }).waitFor();
  expect(await gateway.manage('GET', '/teams/later')).toMatchObject({ name: 'Renamed', writeGuard });
  expect(faults).toEqual([]);
});
