/** Teams and keys at the console, as operators make, change and end them, and as viewers see them. */
import type { Page, Route } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { admin, ask, newTeam, REPORT } from '../support/ask.js';
import type { OpenGateway } from '../support/open-gateway.js';
import { expectCopied, openPages, signedIn as signIn, VIEWER } from './people.js';

const HOSTILE = '<img src=x onerror=alert(1)>';
const RTL = 'שלום & "co"';
const LONG = 'Überlang '.repeat(22).trim();

let gateway: OpenGateway['gateway'];

beforeAll(async () => {
  const opened = await openPages();
  gateway = opened.gateway;
  const { key } = await newTeam(gateway, { id: 'growth', name: 'Growth' });
  const today = await opened.sim.today();
  for (const advertiser of [1, 2, 3, 4, 5, 6])
    await ask(
      `${gateway.data}${REPORT}?advertiserId=${advertiser}&dateFrom=${today}&dateTo=${today}&split=date`,
      { key },
    );
});

const signedIn = (token: string, hash = '#/teams') =>
  signIn(`${gateway.admin}/${hash}`, 'Admin token', token);

/** Of the keys' table, the row of one key. */
const keyRow = (page: Page, label: string) => page.getByRole('row').filter({ hasText: label });

async function answer(page: Page, button: string): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: button, exact: true }).click();
}

const meBy = async (key: string) => (await ask(`${gateway.data}/gateway/v1/me`, { key })).status;

it('lists teams with hostile names as text, finds them, and sorts', async () => {
  await admin(gateway, 'POST', '/teams', { id: 'hostile', name: HOSTILE, advertisers: [1, 2] });
  await admin(gateway, 'POST', '/teams', { id: 'rtl', name: RTL, scopes: [], disabled: true });
  await admin(gateway, 'POST', '/teams', { id: 'long', name: LONG, advertisers: [3] });
  const { page, shots, faults } = await signedIn(gateway.adminToken);
  await page.getByRole('link', { name: HOSTILE }).waitFor();
  expect(await page.locator('main img').count()).toBe(0);
  const cells = page.getByRole('row').filter({ hasText: 'growth' }).getByRole('cell');
  await expect.poll(() => cells.allTextContents()).toMatchObject({ 2: '6', 5: '1 Roll', 6: 'all' });
  expect(await page.getByRole('row').filter({ hasText: RTL }).textContent()).toContain('disabled');
  await shots('console-teams');
  await page.getByRole('button', { name: 'Requests' }).click();
  await expect.poll(() => page.getByRole('row').nth(1).textContent()).toContain('Growth');
  await page.getByRole('searchbox').fill('long');
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  expect(page.url()).toContain('#/teams?search=long');
  await page.getByRole('searchbox').fill('nobody of this name');
  await page.getByText('No team matches.').waitFor();
  expect(faults).toEqual([]);
});

it('leads with who calls and which keys end, and rolls a key from there', async () => {
  await admin(gateway, 'POST', '/teams', { id: 'ending', name: 'Ending' });
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  for (const [label, days] of [
    ['soon', 5],
    ['late', 90],
  ] as const)
    await admin(gateway, 'POST', '/teams/ending/keys', { label, expiresAt: inDays(days) });
  const { key } = await newTeam(gateway, { id: 'rolled', name: 'Rolled' });
  const { page, faults } = await signedIn(gateway.adminToken);
  const calls = page.getByRole('list', { name: 'Share of platform calls' });
  await expect.poll(() => calls.getByRole('listitem').allTextContents()).toEqual(['Growth100 %, 6 calls']);
  const ofGateway = { team: 'gateway', upstreamCalls: 2 };
  const withGateway = async (route: Route) => {
    const { usage, ...rest } = await (await route.fetch()).json();
    await route.fulfill({ json: { ...rest, usage: [...usage, { ...usage[0], ...ofGateway }] } });
  };
  await page.route('**/admin/v1/usage', withGateway, { times: 1 });
  await page.reload();
  await expect
    .poll(() => calls.getByRole('listitem').allTextContents())
    .toEqual(['Growth75.0 %, 6 calls', 'the gateway itself25.0 %, 2 calls']);
  expect(await calls.getByRole('link').allTextContents()).toEqual(['Growth']);
  const ending = page.getByRole('region', { name: 'Keys that expire or are not used' });
  await expect
    .poll(() => ending.getByRole('listitem').allTextContents())
    .toEqual([expect.stringMatching(/^Ending soonexpires in 4 d 23 hIssue a key$/)]);
  await page.getByRole('img', { name: 'Requests by day, at most 6' }).waitFor();
  await keyRow(page, 'Rolled').getByRole('button', { name: /^Roll/ }).click();
  await answer(page, 'Roll');
  const next = await page.getByLabel('Key', { exact: true }).inputValue();
  expect([await meBy(key), await meBy(next)]).toEqual([200, 200]);
  expect(faults).toEqual([]);
});

it('creates a team: what is wrong is told at its field, then it is there', async () => {
  const { page, shots, faults, forgive } = await signedIn(gateway.adminToken);
  await page.getByRole('link', { name: 'New team' }).click();
  await page.getByRole('textbox', { name: /^Name/ }).fill(HOSTILE);
  await page.getByRole('textbox', { name: /^Id/ }).fill('Not An Id');
  const search = page.getByRole('combobox', { name: /^Add an advertiser/ });
  await search.fill('nobody of this name');
  await search.press('Enter');
  await page.getByText('No advertiser with this name has been seen.').waitFor();
  await search.fill('img');
  await search.press('Enter');
  await search.fill('777');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await expect
    .poll(() => page.getByRole('list', { name: 'Selected advertisers' }).textContent())
    .toContain('777');
  // As a browser tells that an offer was taken, which no key did.
  await page.evaluate(`(() => {
    const field = document.querySelector('[list=known-advertisers]');
    field.value = '2';
    field.dispatchEvent(new Event('input', { bubbles: true }));
  })()`);
  const third = page.getByRole('list', { name: 'Selected advertisers' }).getByRole('listitem').nth(2);
  expect(await third.textContent()).toContain('2');
  await third.getByRole('button', { name: /^Remove/ }).click();
  await page.getByRole('checkbox', { name: /^report:pin/ }).check();
  await page.getByRole('spinbutton', { name: /^Requests/ }).fill('0');
  await page.getByRole('spinbutton', { name: /^Concurrent/ }).fill('1.5');
  await page.getByRole('textbox', { name: /^Addresses/ }).fill('10.0.0.0/8\n10.0.0.0/99');
  await page.getByRole('button', { name: 'Create team' }).click();
  await page.getByText('Not saved: correct the fields in red.').waitFor();
  const told = await page.locator('.field', { has: page.locator('.fault') }).allTextContents();
  expect(told.join('\n')).toMatch(/^Id[\s\S]*lower-case letters/);
  expect(told.join('\n')).toMatch(
    /Requests[\s\S]*must be a whole number from 1 to 1000000[\s\S]*Concurrent[\s\S]*must be/,
  );
  await expect.poll(() => page.evaluate('document.activeElement.closest("label").innerText')).toMatch(/^Id/);
  await shots('console-team-wrong');
  await page.getByRole('textbox', { name: /^Id/ }).fill('made-here');
  await page.getByRole('spinbutton', { name: /^Requests/ }).fill('70');
  await page.getByRole('spinbutton', { name: /^Concurrent/ }).fill('');
  // What the schema cannot say comes when the rest is right.
  await page.getByRole('button', { name: 'Create team' }).click();
  await page.getByText('10.0.0.0/99: must be an IPv4 or IPv6 address').waitFor();
  await page.getByRole('textbox', { name: /^Addresses/ }).fill('10.0.0.0/8');
  await page.getByRole('button', { name: 'Create team' }).click();
  await page.getByRole('heading', { level: 1, name: HOSTILE }).waitFor();
  expect(page.url()).toMatch(/#\/teams\/made-here$/);
  expect(await admin(gateway, 'GET', '/teams/made-here')).toMatchObject({
    name: HOSTILE,
    scopes: ['report:read', 'report:pin'],
    advertisers: [1, 777],
    limits: { requestsPerMinute: 70, upstreamCallsPerDay: 5000, maxRangeDays: 400, maxConcurrent: 32 },
    ipAllow: ['10.0.0.0/8'],
  });
  forgive();
  await shots('console-team-made');
  expect(faults).toEqual([]);
});

it('changes a team: only what was changed is sent, and all advertisers only by saying so', async () => {
  await admin(gateway, 'POST', '/teams', { id: 'edited', advertisers: [1], limits: { maxConcurrent: 5 } });
  const { page, shots, faults } = await signedIn(gateway.adminToken, '#/teams/edited');
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: /^Name/ }).fill(RTL);
  await page.getByRole('radio', { name: /^All advertisers/ }).check();
  await page.getByText('sees the data of every advertiser').waitFor();
  await shots('console-team-edit');
  await admin(gateway, 'PATCH', '/teams/edited', { limits: { maxConcurrent: 6 } });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByRole('heading', { level: 1, name: RTL }).waitFor();
  expect(await admin(gateway, 'GET', '/teams/edited')).toMatchObject({
    name: RTL,
    advertisers: '*',
    limits: { maxConcurrent: 6 },
  });
  expect(faults).toEqual([]);
});

it('disables, enables and deletes a team, and says before what happens', async () => {
  const { key } = await newTeam(gateway, { id: 'ended' });
  const { page, shots, faults } = await signedIn(gateway.adminToken, '#/teams/ended');
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('all replicas refuse all calls of').waitFor();
  await shots('console-team-disable');
  await answer(page, 'Cancel');
  expect(await meBy(key)).toBe(200);
  await page.getByRole('button', { name: 'Disable' }).click();
  await answer(page, 'Disable');
  await page.getByRole('button', { name: 'Enable' }).waitFor();
  expect(await meBy(key)).toBe(403);
  await page.getByRole('button', { name: 'Enable' }).click();
  await answer(page, 'Enable');
  await page.getByRole('button', { name: 'Disable' }).waitFor();
  expect(await meBy(key)).toBe(200);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('its keys are revoked for good').waitFor();
  await answer(page, 'Delete');
  await page.getByText('The team is deleted and its keys are revoked.').waitFor();
  expect(await meBy(key)).toBe(401);
  expect(faults).toEqual([]);
});

it('issues a key that is shown once, rolls it with an overlap, and revokes it', async () => {
  await admin(gateway, 'POST', '/teams', { id: 'keyed', name: 'Keyed' });
  const { page, shots, faults, forgive, context } = await signedIn(gateway.adminToken, '#/teams/keyed');
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByText('The team has no valid key').waitFor();
  await page.getByText('Charts appear within twenty seconds').waitFor();
  await page.getByRole('button', { name: 'Issue a key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: /^Label/ }).fill(HOSTILE);
  await dialog.getByLabel(/^Expires/).fill('2020-01-01');
  await answer(page, 'Issue a key');
  await dialog.getByText('must be an ISO date in the future').waitFor();
  await shots('console-key-wrong');
  forgive();
  await dialog.getByLabel(/^Expires/).fill('2199-01-01');
  await answer(page, 'Issue a key');
  const first = await page.getByLabel('Key', { exact: true }).inputValue();
  await expectCopied(page).toBe(first);
  await page.getByText('Copied.').waitFor();
  await keyRow(page, HOSTILE).waitFor();
  await shots('console-key-issued');
  await page.getByRole('button', { name: 'I have it' }).click();
  expect(await page.content()).not.toContain(first);
  await page.getByRole('button', { name: `Roll ${HOSTILE}` }).click();
  await dialog.getByLabel(/^The current secret stays valid for/).selectOption('One hour');
  await answer(page, 'Roll');
  const second = await page.getByLabel('Key', { exact: true }).inputValue();
  expect(second).not.toBe(first);
  await page.getByText('is valid still, and ends in').waitFor();
  expect([await meBy(first), await meBy(second)]).toEqual([200, 200]);
  // Whoever comes back finds no key.
  await page.reload();
  await keyRow(page, HOSTILE).waitFor();
  expect(await page.content()).not.toContain(second);
  await keyRow(page, HOSTILE).getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('This cannot be undone').waitFor();
  await answer(page, 'Revoke');
  await page.getByText('The team has no valid key').waitFor();
  expect([await meBy(first), await meBy(second)]).toEqual([401, 401]);
  await page.getByRole('button', { name: 'Show 1 revoked or expired' }).click();
  expect(await keyRow(page, HOSTILE).textContent()).toContain('revoked');
  expect(faults).toEqual([]);
});

it('shows a new key where the operator looks, also on a phone, until it is dismissed', async () => {
  await admin(gateway, 'POST', '/teams', { id: 'pocket', name: 'Pocket' });
  await admin(gateway, 'POST', '/teams/pocket/keys', { label: 'production' });
  const { page, shots, faults } = await signedIn(gateway.adminToken);
  await page.setViewportSize({ width: 390, height: 844 });
  await keyRow(page, 'Pocket').getByRole('button', { name: 'Roll production of Pocket' }).click();
  await page
    .getByRole('dialog', { name: 'Roll production of Pocket' })
    .getByText('Was the current secret lost or leaked? Choose “Not at all”: then it ends at once.')
    .waitFor();
  await answer(page, 'Roll');
  const rolled = page.getByRole('dialog', { name: 'The key production of Pocket' });
  const field = rolled.getByLabel('Key', { exact: true });
  const inView = `(() => {
    const { top, bottom } = document.querySelector('dialog .secret').getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  })()`;
  await field.waitFor();
  expect(await page.evaluate(inView)).toBe(true);
  await expect.poll(() => page.evaluate('getSelection().toString()')).toBe(await field.inputValue());
  // Nothing but its own button ends it: neither Escape nor another page.
  for (let turn = 0; turn < 3; turn++) await page.keyboard.press('Escape');
  await page.evaluate('location.hash = "#/teams/pocket"');
  await page.locator('h1', { hasText: 'Pocket' }).waitFor();
  expect(await page.evaluate(inView)).toBe(true);
  await shots('console-key-rolled');
  await page.setViewportSize({ width: 390, height: 844 });
  await rolled.getByRole('button', { name: 'I have it' }).click();
  await page.getByRole('button', { name: 'Issue a key for Pocket' }).click();
  await answer(page, 'Issue a key');
  await page.getByRole('dialog', { name: /^The key dgw_\w+… of Pocket$/ }).waitFor();
  expect(await page.evaluate(inView)).toBe(true);
  expect(faults).toEqual([]);
});

it('lines up keys with and without a button, and opens a dialog that is not cut in the cell', async () => {
  await admin(gateway, 'POST', '/teams', { id: 'pair' });
  for (const team of ['pair', 'pair']) await admin(gateway, 'POST', `/teams/${team}/keys`);
  await newTeam(gateway, { id: 'single' });
  const { page } = await signedIn(gateway.adminToken);
  const left = async (team: string) =>
    (await keyRow(page, team).locator('td[data-title=Keys] > span').boundingBox())?.x;
  expect(await left('pair')).toBe(await left('single'));
  await keyRow(page, 'single').getByRole('button', { name: /^Roll/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  const look = `(() => {
    const one = document.querySelector('dialog');
    return [one.scrollWidth <= one.clientWidth, getComputedStyle(one).textAlign];
  })()`;
  expect(await page.evaluate(look)).toEqual([true, 'start']);
});

it('shows what a team used, as charts and by day', async () => {
  const { page, shots, faults } = await signedIn(gateway.adminToken, '#/teams/growth');
  await page.getByRole('img', { name: /^Requests over time/ }).waitFor();
  const usage = page.getByRole('region', { name: 'Usage by day, last 30 days' });
  await expect.poll(() => usage.getByRole('row').count()).toBeGreaterThanOrEqual(2);
  await page.getByText("left of the day's share").waitFor();
  await page.getByRole('button', { name: '24 hours' }).click();
  await expect.poll(() => page.url()).toContain('range=24h');
  await shots('console-team');
  expect(faults).toEqual([]);
});

it('does not offer to change a team that a file declares, and says where it is changed', async () => {
  await admin(gateway, 'POST', '/teams/apply', { teams: [{ id: 'declared', name: 'Declared' }] });
  const { page, shots, faults } = await signedIn(gateway.adminToken, '#/teams/declared?form=edit');
  await page.getByText('Other changes are refused').waitFor();
  for (const name of ['Edit', 'Disable', 'Delete', 'Save'])
    expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
  await page.getByRole('button', { name: 'Issue a key' }).waitFor();
  await shots('console-team-declared');
  expect(faults).toEqual([]);
});

it('shows what a file of teams would change, and applies it only then', async () => {
  await admin(gateway, 'POST', '/teams', { id: 'by-hand', advertisers: [1], limits: { maxRangeDays: 30 } });
  const { page, shots, faults, forgive } = await signedIn(gateway.adminToken);
  await page.getByRole('link', { name: 'Apply a file' }).click();
  const text = page.getByRole('textbox', { name: 'Or paste its content' });
  const look = page.getByRole('button', { name: 'Show changes' });
  await text.fill('teams: [');
  await look.click();
  await page.getByText(/^Invalid YAML: .*at line 1/).waitFor();
  await text.fill('teams:\n  - id: wrong\n    limits: { maxRangeDays: 0 }');
  await look.click();
  await page.getByText(/^teams\.0\.limits\.maxRangeDays must be/).waitFor();
  forgive();
  const teams =
    'teams:\n  - id: by-hand\n    advertisers: [1, 2]\n  - id: from-file\n    name: From a file\n';
  await page
    .getByLabel(/^File/)
    .setInputFiles({ name: 'teams.yaml', mimeType: 'application/yaml', buffer: Buffer.from(teams) });
  await expect.poll(() => text.inputValue()).toContain('from-file');
  await look.click();
  await page.getByText(/^1 team created; 1 team changed; 1 team kept, but not in the file\.$/).waitFor();
  const item = page.getByRole('listitem').filter({ hasText: 'by-hand' });
  expect(await item.textContent()).toMatch(/advertisers\[1\] → \[1,2\].*limits\.maxRangeDays30 → 400/);
  expect((await admin(gateway, 'GET', '/teams/by-hand')).advertisers).toEqual([1]);
  await shots('console-apply');
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  await answer(page, 'Apply');
  await page.getByText('Applied. All replicas').waitFor();
  expect(await admin(gateway, 'GET', '/teams/by-hand')).toMatchObject({
    advertisers: [1, 2],
    managedBy: 'file',
  });
  await page.getByLabel('Teams no longer in the file').selectOption('delete');
  await text.fill('teams: []');
  await look.click();
  await page.getByText(/^\d+ teams deleted, keys revoked permanently\.$/).waitFor();
  await shots('console-apply-delete');
  expect(faults).toEqual([]);
});

it('shows a viewer everything and no button that it may not use', async () => {
  const { page, shots, faults } = await signedIn(VIEWER);
  const growth = page.getByRole('link', { name: 'Growth' }).first();
  await growth.waitFor();
  for (const name of ['New team', 'Apply a file'])
    expect(await page.getByRole('link', { name }).count()).toBe(0);
  await growth.click();
  await page.getByRole('region', { name: 'Keys of the team' }).getByRole('row').nth(1).waitFor();
  for (const name of ['Edit', 'Disable', 'Delete', 'Issue a key', 'Roll', 'Revoke'])
    expect(await page.getByRole('button', { name }).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);
  await page.goto(`${gateway.admin}/#/teams?form=new`);
  await page.getByRole('heading', { level: 1, name: 'Teams' }).waitFor();
  await shots('console-teams-viewer');
  expect(faults).toEqual([]);
});

it('says on the page of a team that an app goes on with a revoked key, and from where', async () => {
  const { key, id } = await newTeam(gateway, { id: 'moving', name: 'Moving' });
  await admin(gateway, 'DELETE', `/keys/${id}`);
  await expect.poll(() => meBy(key)).toBe(401);
  const { page, faults } = await signedIn(gateway.adminToken, '#/teams/moving');
  await page
    .getByText(/^\d+ calls? in the last hour with the revoked key .+, last from \S+ at .+: give that app/)
    .waitFor();
  await page.goto(`${gateway.admin}/#/overview`);
  await page.getByText(/team moving called .* with the key '.+', revoked on /).waitFor();
  expect(faults).toEqual([]);
});
