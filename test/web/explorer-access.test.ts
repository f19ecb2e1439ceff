/** The explorer's pins and what a team may do; long reports; and when the gateway says no. */
import { beforeAll, describe, expect, it } from 'vitest';
import { admin, ask, newTeam, REPORT } from '../support/ask.js';
import { type Gateway, startGateway, startPlatform } from '../support/processes.js';
import { signedIn } from './people.js';

const HOSTILE = '"><img src=x onerror=alert(1)> =1+1';
const QUERY = 'advertiserId=1&byDate=1&_period=last_7_days';

let gateway: Gateway;
let key: string;
let reader: string;

beforeAll(async () => {
  const platform = await startPlatform({ switches: { accountNames: 'hostile' } });
  gateway = await startGateway(platform.env);
  const team = { scopes: ['report:read', 'report:pin'], advertisers: [1, 2] };
  ({ key } = await newTeam(gateway, { id: 'growth', name: 'Growth analytics', ...team }));
  ({ key: reader } = await newTeam(gateway, { id: 'reader', advertisers: [1], scopes: ['report:read'] }));
  expect((await ask(`${gateway.data}${REPORT}?${QUERY}`, { key })).status).toBe(200);
  for (const note of [HOSTILE, null]) {
    const json = { endpoint: 'campaigns/get', query: QUERY, ...(note === null ? {} : { note }) };
    expect((await ask(`${gateway.data}/gateway/v1/pins`, { method: 'POST', key, json })).status).toBe(201);
  }
});

const explorer = (hash: string) => `${gateway.data}/explorer${hash}`;

describe('pins', () => {
  it('are listed, opened as they were pinned, and given up after a question', async () => {
    const seen = await signedIn(explorer('#/pins'), 'Team key', key);
    const { page, faults } = seen;
    await page.getByRole('heading', { name: '2 pins of' }).waitFor();
    await page.getByText(HOSTILE).waitFor();
    await seen.shots('explorer-pins');
    const link = await page.getByRole('link', { name: 'Open' }).first().getAttribute('href');
    const opened = await page.evaluate(`fetch(${JSON.stringify(link)}).then((answer) => answer.status)`);
    expect(opened).toBe(200);
    await page.getByRole('button', { name: 'Delete' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('The pin is gone.').waitFor();
    await page.getByRole('heading', { name: '1 pin of' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('of whoever may not pin have no button to give them up', async () => {
    const { page } = await signedIn(explorer('#/pins'), 'Team key', reader);
    await page.getByText(/There are no pins yet/).waitFor();
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
  });
});

describe('scopes that change while the page is open', () => {
  const scopes = (of: readonly string[]) => admin(gateway, 'PATCH', '/teams/changed', { scopes: of });

  it('are followed by the buttons when the page is looked at again, and after a refusal', async () => {
    const { key: own } = await newTeam(gateway, {
      ...{ id: 'changed', advertisers: [1], scopes: ['report:read', 'report:pin'] },
    });
    const json = { endpoint: 'campaigns/get', query: QUERY };
    await ask(`${gateway.data}/gateway/v1/pins`, { method: 'POST', key: own, json });
    const { page } = await signedIn(explorer('#/pins'), 'Team key', own);
    const remove = page.getByRole('button', { name: 'Delete' });
    await remove.waitFor();
    await scopes(['report:read']);
    await page.evaluate('window.dispatchEvent(new Event("focus"))');
    await expect.poll(() => remove.count()).toBe(0);
    await scopes(['report:read', 'report:pin']);
    await page.evaluate('window.dispatchEvent(new Event("focus"))');
    await remove.click();
    await scopes(['report:read']);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText(/needs the scope|lacks the scope/).waitFor();
    await expect.poll(() => remove.count()).toBe(0);
  });
});

describe('my access', () => {
  it('tells limits, what is left, the age of the key, and which advertisers there are', async () => {
    const seen = await signedIn(explorer('#/access'), 'Team key', key);
    const { page, faults } = seen;
    await page.getByText('Platform calls left today').waitFor();
    await page.getByText(/made (just now|\d+ s ago|\d+ min)/).waitFor();
    await page.getByRole('img', { name: 'Requests and platform calls by day' }).waitFor();
    const advertisers = page.getByRole('region', { name: 'Advertisers' }).getByRole('listitem');
    await advertisers.first().waitFor();
    expect(await advertisers.count()).toBe(2);
    await seen.shots('explorer-access');
    expect(faults).toEqual([]);
  });
});

describe('what the gateway refuses', () => {
  it('is told with what to do, and the form stays to mend it', async () => {
    const seen = await signedIn(
      explorer('#/report?advertiserId=9&byDate=1&_period=last_7_days'),
      'Team key',
      key,
    );
    const { page } = seen;
    await page
      .getByRole('alert')
      .filter({ hasText: /advertiser/i })
      .waitFor();
    await seen.shots('explorer-refused');
    await page.getByRole('combobox', { name: /^Advertiser/ }).fill('1');
    await page.getByRole('button', { name: 'Show the report' }).click();
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
  });

  it('because a key was revoked ends the session, which is told', async () => {
    const { key: short, id } = await newTeam(gateway, { id: 'short', advertisers: [1] });
    const { page } = await signedIn(explorer('#/access'), 'Team key', short);
    await page.getByText('Platform calls left today').waitFor();
    const revoked = await ask(`${gateway.admin}/admin/v1/keys/${id}`, {
      method: 'DELETE',
      bearer: gateway.adminToken,
    });
    expect(revoked.status).toBe(204);
    // By address, since the page may have asked again by itself, and its links be gone already.
    await page.evaluate(() => {
      location.hash = '#/pins';
    });
    await page.getByText('Your session has ended').waitFor();
    expect(await page.getByLabel('Team key').isVisible()).toBe(true);
  });
});
