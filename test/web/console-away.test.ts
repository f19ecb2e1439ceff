/** The console before a gateway whose store goes away, and comes back. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { OpenGateway } from '../support/open-gateway.js';
import { storeThatGoesAway } from '../support/store-away.js';
import { openPages, signedIn } from './people.js';

const { state, wrapStore } = storeThatGoesAway();
let gateway: OpenGateway['gateway'];
beforeAll(async () => {
  ({ gateway } = await openPages({ wrapStore }));
});

function letGo(): void {
  state.isAway = true;
  onTestFinished(() => {
    state.isAway = false;
  });
}

/** A page calls at once when somebody comes back to its tab, or looks at it again. */
const seenAgain = (page: Page) =>
  page.evaluate(
    "document.dispatchEvent(new Event('visibilitychange')); window.dispatchEvent(new Event('focus'))",
  );

const signIn = () => signedIn(`${gateway.admin}/`, 'Admin token', gateway.adminToken);
const READ_ONLY = /Read-only\. The embedded store is unavailable.*dsp-gateway status/;

it('shows a verdict that cannot be asked for any more in grey, since when, and one error', async () => {
  const { page, shots } = await signIn();
  const card = page.locator('.verdict');
  const words = await card.getByRole('heading').textContent();
  const fail = { status: 503, contentType: 'application/problem+json' };
  const body = { title: 'Not ready', detail: 'Redis does not answer.', code: 'not_ready', status: 503 };
  await page.route(/\/admin\/v1\/(status|series)/, (route) => route.fulfill({ ...fail, json: body }));
  onTestFinished(() => page.unrouteAll());
  await seenAgain(page);
  await page.getByRole('heading', { name: /^Unknown since .*\d\d:\d\d/ }).waitFor();
  expect(await card.textContent()).toContain(`Last known: “${words}”`);
  expect(await card.getAttribute('class')).toMatch(/\bquiet\b/);
  const boxes = page.getByRole('main').getByRole('alert');
  await expect.poll(() => boxes.count()).toBe(1);
  expect(await boxes.textContent()).toContain('Redis does not answer.');
  await shots('console-away');
  await page.unrouteAll();
  await seenAgain(page);
  await expect.poll(() => boxes.count()).toBe(0);
  expect(await card.getAttribute('class')).not.toMatch(/\bquiet\b/);
});

it('signs in while the store is away, reads, is marked, and changes nothing; and all is as before when it is back', async () => {
  letGo();
  const { page, shots } = await signIn();
  await page.getByText(READ_ONLY).waitFor();
  await page.getByRole('heading', { name: 'Not well' }).waitFor();
  await expect.poll(() => page.getByRole('main').getByRole('alert').count()).toBeLessThanOrEqual(1);
  await shots('console-read-only');
  await page.getByRole('link', { name: 'Teams' }).click();
  await page.getByRole('heading', { name: 'Teams', level: 1 }).waitFor();
  expect(await page.getByRole('link', { name: 'New team' }).count()).toBe(0);
  state.isAway = false;
  await expect
    .poll(async () => {
      await seenAgain(page);
      return page.getByText(READ_ONLY).count();
    })
    .toBe(0);
  await page.getByRole('link', { name: 'New team' }).waitFor();
});

it('goes on reading for who was signed in when the store went away', async () => {
  const { page } = await signIn();
  await page.locator('.verdict').waitFor();
  letGo();
  await expect
    .poll(async () => {
      await seenAgain(page);
      return page.getByText(READ_ONLY).count();
    })
    .toBe(1);
});
