/**
 * The pictures in README: an hour of a few teams, replayed on a gateway and a simulated platform by moving its clock,
 * then looked at in Chromium.   npm run pictures
 */
import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startDemo } from '../dist/modules/cli/demo/start-demo.js';
import { createRandom } from './trace.mjs';

const FOLDER = fileURLToPath(new URL('../docs/pictures/', import.meta.url));
const MINUTES = 60;
const TEAMS = [
  { id: 'bi', name: 'Business intelligence', advertisers: [1, 2, 3, 4], weight: 9 },
  { id: 'bidding', name: 'Bidding models', advertisers: [1, 2], weight: 6 },
  { id: 'finance', name: 'Finance', advertisers: [2, 5], weight: 3 },
  { id: 'agency', name: 'Agency dashboard', advertisers: [3], weight: 2 },
];
const REPORT = '/api/v1/report/campaigns/get';

const random = createRandom(7);

const demo = await startDemo({ PORT: '0', ADMIN_PORT: '0', GATEWAY_TEST_CLOCK: '1', LOG_LEVEL: 'error' });
try {
  const teams = await makeTeams();
  await replay(teams);
  mkdirSync(FOLDER, { recursive: true });
  await shoot(teams);
} finally {
  await demo.stop();
}

async function admin(method, path, body) {
  const response = await fetch(`${demo.adminUrl}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${demo.adminToken}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok)
    throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

async function makeTeams() {
  const made = [{ key: demo.key, advertisers: [1, 2, 3], weight: 5 }];
  for (const { weight, ...team } of TEAMS) {
    // The hour is replayed in seconds, which the usual limit of a minute would notice.
    const limits = { requestsPerMinute: 100_000 };
    await admin('POST', '/teams', { ...team, scopes: ['report:read', 'report:pin'], limits });
    const { key } = await admin('POST', `/teams/${team.id}/keys`, { label: 'dashboards' });
    made.push({ key, advertisers: team.advertisers, weight });
  }
  return made;
}

/** Minute by minute up to now: dashboards ask for the same windows over and over, people for others now and then. */
async function replay(teams) {
  for (let minute = 0; minute < MINUTES; minute++) {
    await admin('PUT', '/clock', { offsetMs: (minute - MINUTES + 1) * 60_000 });
    const busy = 1 + Math.sin(minute / 9) / 2;
    for (const team of teams) {
      const asked = Array.from({ length: Math.round(team.weight * busy * (1 + random.next())) }, () =>
        ask(team),
      );
      await Promise.all(asked);
    }
  }
}

async function ask({ key, advertisers }) {
  const advertiser = random.chance(0.01) ? 6 : random.pick(advertisers);
  const usual = random.chance(0.96);
  const today = Date.parse(demo.simulator.today);
  const day = (ago) => new Date(today - ago * 86_400_000).toISOString().slice(0, 10);
  const [first, last] = usual
    ? random.pick([
        [6, 0],
        [29, 0],
        [13, 7],
      ])
    : [random.int(15, 60), random.int(0, 14)];
  const query = `advertiserId=${advertiser}&byDate=1&byCampaign=1&dateFrom=${day(first)}&dateTo=${day(last)}`;
  const response = await fetch(`${demo.gatewayUrl}${REPORT}?${query}`, { headers: { 'x-api-key': key } });
  await response.arrayBuffer();
}

async function shoot(teams) {
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
  await signIn(`${demo.adminUrl}/`, 'Admin token', demo.adminToken);
  await page.getByRole('region', { name: 'Teams and their usage' }).waitFor();
  await keep('overview');
  await signIn(
    `${demo.gatewayUrl}/explorer#/report?advertiserId=2&byDate=1&byCampaign=1&_period=last_30_days`,
    'Team key',
    teams[1].key,
  );
  await page.getByRole('figure').first().waitFor();
  await keep('explorer');
  await browser.close();
}
