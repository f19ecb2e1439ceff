/** People sign in with their company account, in a real Chromium, which alone shows what becomes of the cookies. */
import { expect, it } from 'vitest';
import { COMPANY, fillInForms, openCompany, signInAs, visitCompany } from './company.js';
import { signedIn } from './people.js';

const REPORT = '#/report?endpoint=campaigns%2Fget&advertiserId=2&byDate=1&_period=last_7_days';

it('a person signs in at the provider by keyboard, and is at the view of the link', async () => {
  const { explorer } = await openCompany();
  const seen = await visitCompany(explorer + REPORT);
  const { page, context } = seen;
  await page.getByRole('link', { name: COMPANY }).waitFor();
  expect(await page.getByLabel('Team key').count()).toBe(1);
  await seen.shots('sign-in-explorer');
  expect(seen.faults).toEqual([]);
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe(COMPANY);
  await page.keyboard.press('Enter');
  await fillInForms(page, 'ada');
  await page.getByText('Ada Lovelace').waitFor();
  await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
  expect(page.url()).toBe(explorer + REPORT);
  expect(await page.getByText('Data platform', { exact: true }).count()).toBe(1);
  const cookies = (await context.cookies()).filter(({ domain }) => domain === '127.0.0.1');
  expect(cookies).toMatchObject([{ name: 'dgw_explorer', httpOnly: true, sameSite: 'Strict' }]);
  await page.reload();
  await page.getByText('Ada Lovelace').waitFor();
  expect(await page.content()).not.toMatch(/code=|state=/);
  await page.getByRole('link', { name: 'My access' }).click();
  await page.getByRole('heading', { name: 'My access' }).waitFor();
  // A session ends, and there is no key that does.
  await page.getByText('Session ends').waitFor();
  expect(await page.getByText('Key expires').count()).toBe(0);
  await seen.shots('sign-in-access');
});

it('a person without access reads why, and what to ask for', async () => {
  const { console } = await openCompany();
  const seen = await visitCompany(console);
  await signInAs(seen.page, 'nobody');
  await seen.page.getByText('no rule gives this account the console').waitFor();
  const text = await seen.page.locator('main').textContent();
  expect(text).toContain('Claims that came:');
  expect(text).toContain('auth.oidc.people');
  expect(text).not.toContain('guests');
  await seen.shots('sign-in-no-access');
  // The session of nobody.
  await seen.page.goto(console);
  await seen.page.getByRole('link', { name: COMPANY }).waitFor();
});

it('a person without access signs in with another account, also at a provider that shows no list of accounts', async () => {
  const { explorer } = await openCompany();
  const { page } = await visitCompany(`${explorer}#/access`);
  await signInAs(page, 'nobody');
  const other = page.getByRole('link', { name: 'Sign in with another account' });
  await other.click();
  // It was asked for one: prompt=select_account.
  await page.getByText('unsupported prompt value requested').waitFor();
  await other.click();
  await fillInForms(page, 'ada');
  await page.getByText('Ada Lovelace').waitFor();
  expect(page.url()).toBe(`${explorer}#/access`);
});

it('a person with two teams chooses one, and switches to the other later', async () => {
  const { explorer } = await openCompany();
  const seen = await visitCompany(`${explorer}#/access`);
  const { page } = seen;
  await signInAs(page, 'two');
  await page.getByRole('heading', { name: 'Choose a team' }).waitFor();
  await page.getByText('Tove <b>of two</b>').waitFor();
  await seen.shots('sign-in-choose');
  await page.getByRole('combobox', { name: 'Team' }).selectOption({ label: 'Sales' });
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('heading', { name: 'My access' }).waitFor();
  const team = page.getByRole('combobox', { name: 'Team' });
  const chosen = () => team.evaluate((one) => (one as unknown as { value: string }).value);
  expect(await chosen()).toBe('sales');
  await seen.shots('sign-in-two-teams');
  await team.selectOption({ label: 'Data platform' });
  // The question of one team is none of the other.
  await page.getByRole('heading', { name: 'My access' }).waitFor({ state: 'detached' });
  await team.waitFor();
  expect(await chosen()).toBe('data');
  await page.reload();
  await team.waitFor();
  expect(await chosen()).toBe('data');
});

it('a person signs out here and at the provider, whose form comes before the next sign-in', async () => {
  const { console } = await openCompany();
  const seen = await visitCompany(`${console}#/audit`);
  const { page, context } = seen;
  await signInAs(page, 'vera');
  await page.getByText('Vera Viewer', { exact: true }).waitFor();
  // The audit names the person, and says that it is none of the tokens.
  await page.getByText('Vera Viewer (company account) signed in to the console').click();
  await page
    .getByRole('list', { name: 'Changes by actor' })
    .getByText('Vera Viewer (company account)')
    .waitFor();
  await page.getByText('vera of').waitFor();
  await seen.shots('sign-in-audit');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await page.waitForURL(console);
  const link = page.getByRole('link', { name: COMPANY });
  await link.waitFor();
  expect((await context.cookies()).map(({ name }) => name)).not.toContain('dgw_console');
  await link.click();
  await page.locator('input[name="login"]').waitFor();
});

it('a person signs out here alone where the provider has no sign-out', async () => {
  const { explorer } = await openCompany({ signsOut: false });
  const { page } = await visitCompany(`${explorer}#/access`);
  await signInAs(page, 'ada');
  await page.getByText('Ada Lovelace').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('link', { name: COMPANY }).waitFor();
  expect(page.url()).toBe(explorer);
});

it('a person reads that the provider is away, and the key of a team still works', async () => {
  const { explorer, key } = await openCompany({ isAway: true });
  const seen = await visitCompany(explorer);
  await seen.page.getByRole('link', { name: COMPANY }).click();
  await seen.page.getByText('The identity provider cannot').waitFor();
  await seen.shots('sign-in-provider-away');
  const { page } = await signedIn(explorer, 'Team key', key);
  expect(await page.getByText('team', { exact: true }).count()).toBe(1);
});

it('a person reads that the provider went away in the middle of the sign-in', async () => {
  const { explorer, provider } = await openCompany();
  const { page } = await visitCompany(explorer);
  provider.loseTokens();
  await signInAs(page, 'ada');
  await page.getByText('The identity provider cannot').waitFor();
  expect(await page.getByRole('link', { name: 'Sign in again' }).count()).toBe(1);
});

it('the console has no field for a token where tokens do not open it', async () => {
  const { console } = await openCompany({ auth: { tokenSignIn: false } });
  const seen = await visitCompany(console);
  const { page } = seen;
  await page.getByRole('link', { name: COMPANY }).waitFor();
  expect(await page.locator('input').count()).toBe(0);
  expect(await page.getByRole('button').count()).toBe(0);
  await seen.shots('sign-in-no-token');
  expect(seen.faults).toEqual([]);
  await signInAs(page, 'vera');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});
