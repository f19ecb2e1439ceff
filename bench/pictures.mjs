/** The pictures in README: the demo with its past, looked at in Chromium.   npm run pictures */
import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startDemo } from '../dist/modules/cli/demo/start-demo.js';
import { createStoryClock, playStory } from '../dist/modules/cli/demo/story.js';

const FOLDER = fileURLToPath(new URL('../docs/pictures/', import.meta.url));

const clock = createStoryClock();
const demo = await startDemo({ PORT: '0', ADMIN_PORT: '0', LOG_LEVEL: 'error' }, clock);
try {
  await playStory(demo, clock, () => {});
  mkdirSync(FOLDER, { recursive: true });
  await shoot();
} finally {
  await demo.stop();
}

async function shoot() {
  const executablePath = [process.env.CHROMIUM, '/usr/bin/chromium'].find((path) => path && existsSync(path));
  if (executablePath === undefined) throw new Error('no Chromium: install it, or name one by CHROMIUM');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, reducedMotion: 'reduce' });
  const signIn = async (url, label, secret) => {
    await page.goto(url);
    await page.getByLabel(label).fill(secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  };
  const keep = async (name) => {
    await page.evaluate('new Promise((done) => setTimeout(done, 500))');
    await page.screenshot({ path: `${FOLDER}${name}.png` });
  };
  await signIn(`${demo.adminUrl}/#/overview?range=1h`, 'Admin token', demo.adminToken);
  await page.getByRole('region', { name: 'Teams and their usage' }).waitFor();
  await keep('overview');
  await signIn(
    `${demo.gatewayUrl}/explorer#/report?advertiserId=2&byDate=1&byCampaign=1&_period=last_30_days`,
    'Team key',
    demo.key,
  );
  await page.getByRole('figure').first().waitFor();
  await keep('explorer');
  await browser.close();
}
