/** The explorer with numbers as they were at an earlier time, which have no totals of the platform. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { dayNumber } from '../../src/reports/query/days.js';
import { resolvePeriod } from '../../src/reports/query/period.js';
import type { Revisions } from '../../src/web/explorer/changed.js';
import { dates } from '../../src/web/explorer/dates.js';
import { commonRuns, knownThen } from '../../src/web/explorer/known-then.js';
import {
  dayAfter,
  daysOf,
  FIRST_QUESTION,
  PERIODS,
  type Period,
  periodThen,
  runsOf,
} from '../../src/web/explorer/question.js';
import { BY_DATE, HOUR, historyScene, PERIOD } from '../gateway/history-scene.js';
import { listenGateway } from '../support/listen-gateway.js';
import { withGateway } from '../support/start-gateway.js';
import { MINUTE } from '../support/test-clock.js';
import { signedIn } from './people.js';

const fieldOf = (ms: number) => new Date(ms).toISOString().slice(0, 16);
/** As the page writes the time of a field. */
const told = (field: string) => `${dates.full(field)} ${field.slice(11)} UTC`;
const REPORT = 'explorer#/report?endpoint=campaigns%2Fget';

it.each([
  { of: 'one advertiser', ids: [1], rows: '3 rows' },
  { of: 'several advertisers', ids: [1, 2], rows: '6 rows' },
])('a person reads the numbers of $of as they were, with sums of the rows', async ({ ids, rows }) => {
  const { gateway, key, ask } = await historyScene();
  for (const id of ids) await ask(BY_DATE.replace('advertiserId=1', `advertiserId=${id}`));
  // Later than the numbers were fetched.
  gateway.clock.advance(HOUR);
  const asOf = fieldOf(gateway.clock.now());
  gateway.clock.advance(HOUR);
  const query = `${ids.map((id) => `advertiserId=${id}`).join('&')}&byDate=1&${PERIOD}&asOf=${asOf}`;
  const url = `${await listenGateway(gateway)}/${REPORT}&${query}`;
  const { page, faults } = await signedIn(url, 'Team key', key);
  const table = page.getByRole('region', { name: 'Rows of the report' });
  await table.waitFor();
  expect(await table.locator('tbody tr').count()).toBe(3 * ids.length);
  await table.getByRole('rowheader', { name: 'Sum of rows' }).waitFor();
  await page.getByText(rows, { exact: true }).first().waitFor();
  const note = page.getByRole('status').filter({ hasText: 'Totals have no history' });
  expect(await note.textContent()).toMatch(
    `Numbers as they were on ${told(asOf)}, not those of now. Totals have no history: sums of these rows are shown.`,
  );
  // The numbers of now have totals.
  await note.getByRole('link', { name: 'Show the numbers of now' }).click();
  await page.waitForURL((to) => !to.hash.includes('asOf'));
  await note.waitFor({ state: 'detached' });
  await page.getByText(rows, { exact: true }).first().waitFor();
  expect(faults).toEqual([]);
});

it('a person opens the cache state of numbers as they were', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE);
  const asOf = fieldOf(gateway.clock.now());
  gateway.clock.advance(HOUR);
  const query = `${BY_DATE}&asOf=${asOf}&panel=explain`;
  const url = `${await listenGateway(gateway)}/${REPORT}&${query}`;
  const { page, faults } = await signedIn(url, 'Team key', key);
  const panel = page.getByRole('region', { name: 'Cache state', exact: true });
  await panel.waitFor();
  await panel.getByText('Loading').waitFor({ state: 'detached' });
  expect(await panel.getByRole('alert').count()).toBe(0);
  expect(faults).toEqual([]);
});

it('a person who asks for a time when not all days were known reads which were, and opens them', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE.replace('2026-11-19', '2026-11-18'));
  const then = fieldOf(gateway.clock.now());
  gateway.clock.advance(HOUR);
  await ask(BY_DATE);
  const all = fieldOf(gateway.clock.now());
  const url = `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}&asOf=`;
  const { page, shots } = await signedIn(url + then, 'Team key', key);
  const alert = page.getByRole('alert').filter({ hasText: 'Not known then.' });
  await alert
    .getByText(
      `Only 2 of these days were known on ${told(then)}: Nov 17 – 18, 2026. All of them are known from ${told(all)} on.`,
    )
    .waitFor();
  expect(await page.getByRole('button', { name: /^Try again/ }).count()).toBe(0);
  expect(await alert.getByRole('link').allInnerTexts()).toEqual([
    'Show Nov 17 – 18, 2026',
    `Show all as they were on ${told(all)}`,
    'Show the numbers of now',
  ]);
  await shots('explorer-not-known-then');
  await alert.getByRole('link', { name: 'Show Nov 17 – 18, 2026' }).click();
  await page.getByText(`Numbers as they were on ${told(then)}`).waitFor();
  const lines = page.getByRole('region', { name: 'Rows of the report' }).locator('tbody tr');
  expect(await lines.count()).toBe(2);
  await page.goto(url + fieldOf(gateway.clock.now() - 24 * HOUR));
  await alert.getByText(/^.*None of these days was known on /).waitFor();
  await alert.getByRole('link', { name: 'Show all as they were on' }).click();
  await expect.poll(() => lines.count()).toBe(3);
});

it('a person who asks for the end of a day when not all days were known opens those that were', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE.replace('2026-11-19', '2026-11-18'));
  const day = dayAfter(fieldOf(gateway.clock.now()).slice(0, 10), 1);
  gateway.clock.advance(72 * HOUR);
  await ask(BY_DATE);
  const { page } = await signedIn(
    `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}&asOf=${day}`,
    'Team key',
    key,
  );
  const alert = page.getByRole('alert').filter({ hasText: 'Not known then.' });
  await alert
    .getByText(
      new RegExp(
        `These days were known on ${dates.full(day)}, at the end of the day: Nov 17 – 18, 2026\\. All of them are known from Nov 24, 2026 [\\d:]+ UTC on\\.`,
      ),
    )
    .waitFor();
  await alert.getByRole('link', { name: 'Show Nov 17 – 18, 2026' }).click();
  const lines = page.getByRole('region', { name: 'Rows of the report' }).locator('tbody tr');
  await expect.poll(() => lines.count()).toBe(2);
});

it('a person opens a pin of earlier numbers: list and pin name their time, and what changed is counted from it', async () => {
  const { gateway, key, ask, restated } = await historyScene();
  await ask(BY_DATE);
  gateway.clock.advance(HOUR);
  const asOf = fieldOf(gateway.clock.now());
  const then = told(asOf);
  await restated(BY_DATE);
  const json = { endpoint: 'campaigns/get', query: `${BY_DATE}&_asOf=${asOf}:00Z` };
  const pinned = await gateway.call('/gateway/v1/pins', { method: 'POST', key, json });
  const { id } = pinned.json<{ id: string }>();
  const url = `${await listenGateway(gateway)}/explorer#/pins`;
  const { page, faults } = await signedIn(url, 'Team key', key);
  await page.getByRole('row').getByText(`as of ${then}`).waitFor();
  await page.getByRole('link', { name: 'Pinned rows' }).click();
  await page.getByText(`Numbers as last read before ${then}.`).waitFor();
  // The platform changed a day before they were pinned, and after that time.
  await page.getByRole('link', { name: 'What changed since' }).click();
  await page
    .getByText(
      /^Surely since .*: no day\. 1 day changed at an unknown time since it was last read, \+\$[\d.]+\. Spent of all 3 days: [^()]* more \([^()]*\)\.$/,
    )
    .waitFor();
  const since = page.getByLabel('Changed since').getByRole('option', { selected: true });
  expect(await since.textContent()).toBe(`the pin (numbers as of ${then})`);
  expect(page.url()).not.toContain('asOf');
  await page.goto(`${url}?pin=${id}`);
  await page.getByRole('link', { name: 'Live report' }).click();
  await page.getByRole('button', { name: 'What changed' }).waitFor();
  expect(page.url()).not.toContain('asOf');
  expect(faults).toEqual([]);
});

it('a person whose split report was not known then opens the report by date only, which was', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE);
  const asOf = fieldOf(gateway.clock.now() + MINUTE);
  gateway.clock.advance(HOUR);
  const url = `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}&byCampaign=1&asOf=${asOf}`;
  const { page, faults, forgive } = await signedIn(url, 'Team key', key);
  const alert = page.getByRole('alert').filter({ hasText: 'Not known then.' });
  await alert.waitFor();
  forgive();
  // Its time is written for people.
  expect(await alert.textContent()).not.toMatch(/\dT\d/);
  await alert.getByRole('link', { name: 'Show all days by date only, as they were then' }).click();
  await page.getByText(`Numbers as they were on ${told(asOf)}`).waitFor();
  const lines = page.getByRole('region', { name: 'Rows of the report' }).locator('tbody tr');
  await expect.poll(() => lines.count()).toBe(3);
  expect(faults).toEqual([]);
});

it('a person whose split report was not known at the end of a day opens the days that were known by date only', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE.replace('2026-11-19', '2026-11-18'));
  const day = dayAfter(fieldOf(gateway.clock.now()).slice(0, 10), 1);
  gateway.clock.advance(72 * HOUR);
  await ask(BY_DATE);
  const url = `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}&byCampaign=1&asOf=`;
  const { page } = await signedIn(`${url}${day}`, 'Team key', key);
  const alert = page.getByRole('alert').filter({ hasText: 'Not known then.' });
  await alert.getByRole('link', { name: 'Show 2 days by date only, as they were then' }).click();
  await page.getByText('1 day is missing, as not known then: Nov 19, 2026.').waitFor();
  const lines = page.getByRole('region', { name: 'Rows of the report' }).locator('tbody tr');
  await expect.poll(() => lines.count()).toBe(2);
});

it('a person with several advertisers reads which one was not known then, and is not told to ask again', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE);
  const query = `${BY_DATE}&advertiserId=2&asOf=${fieldOf(gateway.clock.now())}`;
  const url = `${await listenGateway(gateway)}/${REPORT}&${query}`;
  const { page } = await signedIn(url, 'Team key', key);
  await page.getByText('1 of 2 advertisers.').waitFor();
  const line = page.getByRole('region', { name: 'Advertisers', exact: true }).getByRole('row');
  await line
    .getByText(
      /^No recorded data at \w+ \d+, \d+ [\d:]+ UTC for Nov 17, 2026, Nov 18, 2026, Nov 19, 2026\. Some were never recorded\.$/,
    )
    .waitFor();
  expect(await page.getByRole('button', { name: 'Ask again for the others' }).count()).toBe(0);
});

it('a person reads of a report without history that there is none, and opens the numbers of now', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  const url = `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}&asOf=2026-11-20T08:00`;
  const { page } = await signedIn(url, 'Team key', key);
  const alert = page.getByRole('alert').filter({ hasText: 'Not known then. Such a report has no history' });
  await alert.getByRole('link', { name: 'Show the numbers of now' }).click();
  await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
  expect(page.url()).not.toContain('asOf');
  // Of a pin that was made as of a day.
  await page.goto(url.replace('T08:00', ''));
  // By now the history may have begun, later than that day: the page tells from when on.
  await page
    .getByRole('alert')
    .filter({ hasText: /Not known then\. (Such a report has no history|None of these days was known)/ })
    .waitFor();
});

it('a person reads of earlier numbers of days not complete then that they may have changed', async () => {
  const { gateway, key, ask } = await historyScene();
  const query = BY_DATE.replace(PERIOD, 'dateFrom=2026-11-18&dateTo=2026-11-20');
  await ask(query);
  const fetchedOn = gateway.clock.now();
  const asOf = fieldOf(fetchedOn + HOUR);
  gateway.clock.advance(27 * 24 * HOUR);
  const url = `${await listenGateway(gateway)}/${REPORT}&${query}&asOf=${asOf}`;
  const { page } = await signedIn(url, 'Team key', key);
  await page
    .getByText(
      /^\d of 3 days (was|were) not complete then, and not fetched again since: (it|they) may have changed later\.$/,
    )
    .waitFor();
  await page.getByText('~ marks days that may have changed later.').waitFor();
  await page.getByRole('img', { name: 'may have changed later' }).first().waitFor();
  expect(await page.getByText(/is still completing|provisional/).count()).toBe(0);
});

it('a person reads of earlier numbers which days changed later, and their numbers of now', async () => {
  const { gateway, key, ask, restated } = await historyScene();
  await ask(BY_DATE);
  const asOf = fieldOf(gateway.clock.now() + MINUTE);
  await restated(BY_DATE);
  const url = `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}`;
  const { page, faults, shots, axe } = await signedIn(`${url}&asOf=${asOf}`, 'Team key', key);
  await page.getByText('1 of 3 days changed later; “What changed” tells how.').waitFor();
  await page.getByText('~ marks days that changed later.').waitFor();
  const sign = page.getByRole('img', { name: 'changed later' });
  expect(await sign.count()).toBe(1);
  const row = page.getByRole('row').filter({ has: sign });
  expect(await row.locator('td').first().textContent()).toMatch(/^Nov 18~/);
  expect(await row.locator('td[title*="Spent of the day: $"]').getAttribute('title')).toMatch(
    /^Spent of the day: \$[\d,.]+ then, \$[\d,.]+ now$/,
  );
  await page.getByText('Shaded: days that changed later.').waitFor();
  expect(await axe()).toEqual([]);
  const then = told(asOf);
  await page.getByRole('button', { name: 'What changed' }).click();
  const panel = page.getByRole('region', { name: 'What changed', exact: true });
  await panel.getByText(`Surely since ${then}: `).waitFor();
  const since = panel.getByLabel('Changed since');
  expect(await since.getByRole('option', { selected: true }).textContent()).toBe(then);
  await since.selectOption('first fetched');
  await panel.getByText('1 day changed since first fetched.').waitFor();
  await since.selectOption(then);
  await panel.getByText(`Surely since ${then}: `).waitFor();
  await shots('explorer-changed-since');
  await page.getByRole('group', { name: 'By' }).getByRole('button', { name: 'Week' }).click();
  await page.getByText('Not complete: each week with days that changed later.').waitFor();
  // Days that were complete then.
  const old = BY_DATE.replaceAll('2026-11-', '2026-09-');
  await ask(old);
  const after = fieldOf(gateway.clock.now() + MINUTE);
  gateway.clock.advance(2 * MINUTE);
  await page.goto(`${url.replace(BY_DATE, old)}&asOf=${after}`);
  await page.getByText('None of 3 days changed later.', { exact: true }).waitFor();
  expect(await page.getByText('~ marks').count()).toBe(0);
  expect(faults).toEqual([]);
});

it('a person whose report the platform does not complete reads which days are known, and opens them', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE.replace('2026-11-19', '2026-11-18'));
  gateway.simulator.fault({ kind: 'status', status: 503, times: 0 });
  const url = `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}`;
  const { page, shots, axe } = await signedIn(url, 'Team key', key);
  const alert = page.getByRole('alert').filter({ hasText: 'The platform does not answer.' });
  await alert.getByText('Known: Nov 17 – 18, 2026.').waitFor();
  await alert.getByRole('button', { name: /^Try again/ }).waitFor();
  expect(await axe()).toEqual([]);
  await shots('explorer-platform-away');
  await alert.getByRole('link', { name: 'Show Nov 17 – 18, 2026' }).click();
  const lines = page.getByRole('region', { name: 'Rows of the report' }).locator('tbody tr');
  await expect.poll(() => lines.count()).toBe(2);
});

it('a person asks for the end of a day without a time; a day that is not over is refused with what to do', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE);
  const day = fieldOf(gateway.clock.now()).slice(0, 10);
  gateway.clock.advance(24 * HOUR);
  const url = `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}`;
  const { page } = await signedIn(url, 'Team key', key);
  await page.getByLabel('At a time (UTC)').fill('08:00');
  await page.getByText('Enter the day of “As they were on”, or clear its time.').waitFor();
  await page.getByLabel('At a time (UTC)').fill('');
  await page.getByLabel(/^As they were on/).fill(day);
  await page.getByText(`Numbers as they were on ${dates.full(day)}, at the end of the day`).waitFor();
  await page.getByLabel(/^As they were on/).fill(dayAfter(day, 2));
  const refused = page.getByRole('alert').filter({ hasText: 'or leave it empty for the numbers of now.' });
  await refused.getByText('That day is not over: choose an earlier one').waitFor();
  expect(await page.getByText('_asOf').count()).toBe(0);
  await page.getByLabel('At a time (UTC)').fill('08:00');
  await refused.getByText('That time has not come: choose an earlier one').waitFor();
  await refused.getByRole('link', { name: 'Show the numbers of now' }).click();
  await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
});

it('a relative period of an earlier time has the days that the gateway gives it on that day', () => {
  const words = fc.oneof(
    fc.constantFrom(...PERIODS.map(([word]) => word)),
    fc.integer({ min: 1, max: 400 }).map((days) => `last_${days}_days`),
  );
  const days = fc.integer({ min: 0, max: 4000 }).map((count) => dayAfter('2020-01-01', count));
  fc.assert(
    fc.property(words, days, fc.constantFrom('', 'T08:00'), (period, day, time) => {
      const then = periodThen({ ...FIRST_QUESTION, period, asOf: `${day}${time}` });
      expect(then).toEqual(resolvePeriod(period, dayNumber(day) as number));
    }),
  );
  for (const asOf of ['', 'T08:00', '2026-13-01']) expect(periodThen({ ...FIRST_QUESTION, asOf })).toBeNull();
  expect(periodThen({ ...FIRST_QUESTION, period: '', asOf: '2026-11-20' })).toBeNull();
});

it('a person who asks for the last 7 days as they were on a day reads which these are, and opens the same days of now', async () => {
  const { gateway, key, ask } = await historyScene();
  const week = 'advertiserId=1&byDate=1&dateFrom=2026-11-14&dateTo=2026-11-20';
  await ask(week);
  const day = fieldOf(gateway.clock.now()).slice(0, 10);
  expect(day).toBe('2026-11-21');
  gateway.clock.advance(72 * HOUR);
  const url = `${await listenGateway(gateway)}/${REPORT}&advertiserId=1&byDate=1&_period=last_7_days`;
  const { page, faults } = await signedIn(url, 'Team key', key);
  await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
  await page.getByLabel(/^As they were on/).fill(day);
  await page.getByText('As on Nov 21, 2026: Nov 14 – 20, 2026.').waitFor();
  await page.getByRole('heading', { name: /Nov 14 – 20, 2026/ }).waitFor();
  expect(page.url()).toContain('_period=last_7_days');
  await page.getByRole('link', { name: 'Show the numbers of now' }).click();
  await page.waitForURL((url) => !url.hash.includes('asOf'));
  await page.getByRole('heading', { name: /Nov 14 – 20, 2026/ }).waitFor();
  expect(faults).toEqual([]);
});

it('a person finds the time of earlier numbers in the form, by its name', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE);
  const asOf = fieldOf(gateway.clock.now());
  const url = `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}`;
  const { page, faults } = await signedIn(url, 'Team key', key);
  await page.getByText('Empty: the numbers of now.').waitFor();
  await page.getByLabel('At a time (UTC)').fill(asOf.slice(11));
  await page.getByLabel(/^As they were on/).fill(asOf.slice(0, 10));
  await page.getByText(`Numbers as they were on ${told(asOf)}`).waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await page
    .getByText(/^Campaigns · .* · Nov 17 – 19, 2026 · by date · as they were on \w+ \d+, \d+ [\d:]+ UTC$/)
    .waitFor();
  expect(faults).toEqual([]);
});

it('of days the first time that all were known is when the last of them was first fetched', () => {
  const day = fc
    .nat(60)
    .map((at) => new Date(Date.parse('2026-01-01') + at * 24 * HOUR).toISOString().slice(0, 10));
  const days = fc.uniqueArray(
    fc.record({ date: day, known: fc.array(fc.nat(1000)), wasVoid: fc.boolean() }),
    { selector: ({ date }) => date, minLength: 1 },
  );
  fc.assert(
    fc.property(days, fc.nat(1000), (all, at) => {
      const data = all
        .toSorted((a, b) => (a.date < b.date ? -1 : 1))
        .map(({ date, known, wasVoid }) => ({
          date,
          revisions: known
            .toSorted((a, b) => a - b)
            .map((minute) => ({
              knownFrom: new Date(minute * MINUTE).toISOString(),
              ...(wasVoid ? { void: 'cut' } : {}),
            })),
        }));
      const { isWhole, known, gaps, allFrom } = knownThen({ data } as unknown as Revisions, at * MINUTE);
      const firsts = all.map((one) => (one.wasVoid ? Number.POSITIVE_INFINITY : Math.min(...one.known)));
      const last = Math.max(...firsts);
      const isAll = last <= at;
      const expected = all.flatMap(({ date }, index) => ((firsts[index] as number) <= at ? date : []));
      expect(isWhole).toBe(isAll);
      expect(known.flatMap((days) => daysOf(days))).toEqual(isAll ? [] : expected.toSorted());
      const others = all.flatMap(({ date }) => (expected.includes(date) ? [] : date));
      expect(gaps.flatMap((days) => daysOf(days))).toEqual(others.toSorted());
      expect(allFrom).toBe(isAll || last === Number.POSITIVE_INFINITY ? null : fieldOf(last * MINUTE));
      for (const [index, { from }] of known.entries())
        if (index > 0) expect(dayAfter((known[index - 1] as Period).to, 1) < from).toBe(true);
    }),
  );
});

it('the days that all lists of periods have are those in each of them', () => {
  const day = fc.nat(20).map((at) => dayAfter('2026-01-01', at));
  const lists = fc.array(fc.uniqueArray(day), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(lists, (all) => {
      const common = commonRuns(all.map((days) => runsOf(days.toSorted())));
      const [first = [], ...others] = all;
      const expected = first.filter((one) => others.every((days) => days.includes(one))).toSorted();
      expect(common.flatMap((days) => daysOf(days))).toEqual(expected);
    }),
  );
  expect(commonRuns([])).toEqual([]);
});

it('a person who asks for a time when days between others were not known opens all that were, with the gap named, and what changed of them', async () => {
  const { gateway, key, ask, restated } = await historyScene();
  const dayOf = (day: number) => BY_DATE.replace(PERIOD, `dateFrom=2026-11-${day}&dateTo=2026-11-${day}`);
  await ask(dayOf(17));
  await ask(dayOf(19));
  const then = fieldOf(gateway.clock.now());
  gateway.clock.advance(HOUR);
  await ask(BY_DATE);
  await restated(BY_DATE, '2026-11-17');
  const url = `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}&asOf=${then}`;
  const { page, shots, axe } = await signedIn(url, 'Team key', key);
  await page.getByRole('link', { name: 'Show the 2 days that were known' }).click();
  await page
    .getByText('1 day is missing, as not known then: Nov 18, 2026. Sums are of the other days.')
    .waitFor();
  await page.getByRole('heading', { name: /Nov 17 – 19, 2026/ }).waitFor();
  const lines = page.getByRole('region', { name: 'Rows of the report' }).locator('tbody tr');
  await expect.poll(() => lines.count()).toBe(2);
  await page.getByText('1 of 2 days changed later; “What changed” tells how.').waitFor();
  await page.getByRole('button', { name: 'What changed' }).click();
  const panel = page.getByRole('region', { name: 'What changed', exact: true });
  await panel.getByText(`Surely since ${told(then)}: `).waitFor();
  await panel.getByText('1 day was first fetched later: only changes after that are known.').waitFor();
  expect(await axe()).toEqual([]);
  await shots('explorer-known-days');
});
