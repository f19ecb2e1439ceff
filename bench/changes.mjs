/**
 * What a loader of by-date reports moves and misses: 60 virtual days of a platform that restates days of every age up to 45 days,
 * and is still from 23:00 on. Loader A follows the feed of changes, and the gateway watches the reports; loaders B ask the platform
 * for the last 7, 30 and 90 days each night. Each loads at 23:50. At midnight each loader's cells of the last 45 whole days are
 * held against the platform's.
 *
 * With `--fan-out`: 10,000 changes a minute to 1 reader and to 1,000 readers: Redis commands and CPU time of the gateway.
 *
 * Usage: npm run build && node bench/changes.mjs [--seed 1] [--days 60] [--restated 2]
 *        npm run build && node bench/changes.mjs --fan-out [--readers 1,1000]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../dist/modules/config/load.js';
import { run } from '../dist/modules/server/run.js';
import { fanOut } from './support/fan-out.mjs';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    days: { type: 'string', default: '60' },
    restated: { type: 'string', default: '2' },
    'fan-out': { type: 'boolean', default: false },
    readers: { type: 'string', default: '1,1000' },
  },
});

const [DAY_MS, HOUR_MS, MINUTE_MS] = [86_400_000, 3_600_000, 60_000];
const ORIGIN_MS = Date.UTC(2026, 0, 1);
const ADVERTISERS = [1, 2, 3];
const CAMPAIGNS = 12;
/** Oldest age at which the platform restates, and that is compared. */
const AGES = 45;
const WINDOWS = [7, 30, 90];
/** Numbers change before 23:00 alone. */
const STILL_HOUR = 23;
const COLUMNS = ['impressions', 'clicks', 'spent'];

const isoDay = (ms) => new Date(ms).toISOString().slice(0, 10);
const queryOf = (advertiser) => `advertiserId=${advertiser}&byCampaign=1&byDate=1`;

/** @returns numbers from 0 to 1 of a seed (mulberry32) */
function diceOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A platform whose days are restated one by one. It counts calls and rows. */
async function startPlatform() {
  const restatements = new Map();
  const counts = { calls: 0, rows: 0 };
  const keyOf = (advertiser, date) => `${advertiser} ${date}`;
  function rowsOf(advertiser, date) {
    const revision = restatements.get(keyOf(advertiser, date)) ?? 0;
    const day = Date.parse(date) / DAY_MS;
    return Array.from({ length: CAMPAIGNS }, (_, n) => {
      const impressions = 1000 + ((day * 7919 + n * 104_729 + advertiser * 1299) % 9000) + revision * (n + 1);
      return {
        date,
        campaign_id: 100 + n,
        campaign_name: `Campaign ${n}`,
        advertiser_id: advertiser,
        impressions,
        clicks: Math.floor(impressions / 50),
        spent: (impressions / 133).toFixed(4),
      };
    });
  }
  const server = createServer((request, response) => {
    const query = new URL(request.url, 'http://platform').searchParams;
    const [from, to] = [Date.parse(query.get('dateFrom')), Date.parse(query.get('dateTo'))];
    const days = Array.from({ length: (to - from) / DAY_MS + 1 }, (_, n) => isoDay(from + n * DAY_MS));
    const rows = days.flatMap((date) => rowsOf(Number(query.get('advertiserId')), date));
    counts.calls += 1;
    counts.rows += rows.length;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ data: rows }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    counts,
    rowsOf,
    restate: (advertiser, date) =>
      restatements.set(keyOf(advertiser, date), (restatements.get(keyOf(advertiser, date)) ?? 0) + 1),
    close: () => server.close(),
  };
}

async function startWorld() {
  const platform = await startPlatform();
  const folder = mkdtempSync(join(tmpdir(), 'dsp-gateway-bench-'));
  const settings = join(folder, 'settings.yaml');
  writeFileSync(settings, JSON.stringify({ report: { restatementDays: AGES } }));
  const config = loadConfig({
    GATEWAY_CONFIG: settings,
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'error',
    PLATFORM_BASE_URL: platform.url,
    PLATFORM_TOKEN: 'bench-token',
    GATEWAY_DATA_DIR: join(folder, 'data'),
    GATEWAY_TEST_CLOCK: '1',
  });
  const gateway = await run({ config, proxy: {}, planes: ['data', 'admin'] });
  const { services } = gateway;
  const moveTo = (ms) => services.clock.moveTo(ms - Date.now());
  moveTo(ORIGIN_MS);
  const admin = (path, body) =>
    post(`${gateway.urls.get('admin')}/admin/v1${path}`, body, gateway.adminToken);
  const limits = { requestsPerMinute: 1_000_000, upstreamCallsPerDay: 100_000_000, maxConcurrent: 10_000 };
  await admin('/teams', { id: 'bench', advertisers: '*', limits, scopes: ['report:read', 'report:watch'] });
  const { key } = await admin('/teams/bench/keys', {});
  const ask = async (path, init = {}) => {
    const response = await fetch(gateway.urls.get('data') + path, {
      ...init,
      headers: { ...init.headers, 'x-api-key': key },
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return { headers: response.headers, body: await response.json() };
  };
  return {
    platform,
    services,
    moveTo,
    ask,
    async close() {
      await gateway.stop();
      platform.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function post(url, body, token) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

/** A table of rows by advertiser and day; a load replaces whole days. */
function createTable() {
  const days = new Map();
  return {
    moved: 0,
    replace(advertiser, date, rows) {
      days.set(`${advertiser} ${date}`, rows);
      this.moved += rows.length;
    },
    drop: (advertiser, date) => days.delete(`${advertiser} ${date}`),
    cellsOf: (advertiser, date) =>
      cellsIn(
        (days.get(`${advertiser} ${date}`) ?? []).map((row) => [row.campaignId ?? row.campaign_id, row]),
      ),
  };
}

const cellsIn = (pairs) =>
  new Map(pairs.flatMap(([id, row]) => COLUMNS.map((column) => [`${id} ${column}`, Number(row[column])])));

/** Follows the feed; its first load is by reports. */
async function createFollower({ ask }, now) {
  const table = createTable();
  const { headers } = await ask('/gateway/v1/changes?offset=now');
  let offset = headers.get('stream-next-offset');
  for (const advertiser of ADVERTISERS) {
    const period = `dateFrom=${isoDay(now - AGES * DAY_MS)}&dateTo=${isoDay(now - DAY_MS)}`;
    const { body } = await ask(`/api/v1/report/campaigns/get?${queryOf(advertiser)}&${period}`);
    for (const date of new Set(body.data.map((row) => row.date)))
      table.replace(
        advertiser,
        date,
        body.data.filter((row) => row.date === date),
      );
  }
  return {
    table,
    async load() {
      for (let isOver = false; !isOver; ) {
        const { headers: said, body } = await ask(
          `/gateway/v1/changes?offset=${offset}&rows=1&split=date,campaign`,
        );
        for (const {
          value,
          key,
          headers: { operation },
        } of body) {
          if (operation === 'delete') throw new Error(`the feed has deleted ${key}`);
          if (value.rows !== undefined) table.replace(value.advertiserId, value.date, value.rows);
        }
        offset = said.get('stream-next-offset');
        isOver = said.get('stream-up-to-date') === 'true';
      }
    },
  };
}

function wrongCells(table, platform, nowMs) {
  let [wrong, all] = [0, 0];
  for (const advertiser of ADVERTISERS)
    for (let age = 1; age <= AGES; age++) {
      const date = isoDay(nowMs - age * DAY_MS);
      const truth = cellsIn(platform.rowsOf(advertiser, date).map((row) => [row.campaign_id, row]));
      const cells = table.cellsOf(advertiser, date);
      for (const [name, value] of truth) if (cells.get(name) !== value) wrong += 1;
      all += truth.size;
    }
  return { wrong, all };
}

async function compare() {
  const dice = diceOf(Number(values.seed));
  const days = Number(values.days);
  const world = await startWorld();
  const { platform, services, moveTo, ask } = world;
  const readWatches = services.reporting.led['reads of watches'];
  for (const advertiser of ADVERTISERS)
    await ask(`/gateway/v1/watches/advertiser-${advertiser}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        endpoint: 'campaigns/get',
        query: `${queryOf(advertiser)}&_period=last_${AGES}_days`,
        maxAgeDays: AGES,
      }),
    });
  const follower = await createFollower(world, ORIGIN_MS);
  await services.settled();
  const others = WINDOWS.map((window) => ({ window, table: createTable(), calls: 0, wrong: 0, nights: 0 }));
  for (const { table } of others)
    for (const advertiser of ADVERTISERS)
      for (let age = 1; age <= AGES; age++) {
        const date = isoDay(ORIGIN_MS - age * DAY_MS);
        table.replace(advertiser, date, platform.rowsOf(advertiser, date));
      }
  // What the first load has told is no news.
  await services.reporting.led['telling of months anew'](() => false);
  await follower.load();
  const feed = { wrong: 0, nights: 0, all: 0 };
  const first = [...others.map(({ table }) => table), follower.table];
  for (const table of first) table.moved = 0;
  const calls = platform.counts.calls;
  let restated = 0;
  for (let day = 0; day < days; day++) {
    const midnight = ORIGIN_MS + day * DAY_MS;
    for (let minute = 10; minute < 24 * 60; minute += 30) {
      const nowMs = midnight + minute * MINUTE_MS;
      moveTo(nowMs);
      if (minute < STILL_HOUR * 60)
        for (const advertiser of ADVERTISERS)
          if (dice() < Number(values.restated) / (STILL_HOUR * 2)) {
            platform.restate(advertiser, isoDay(midnight - (1 + Math.floor(dice() * AGES)) * DAY_MS));
            restated += 1;
          }
      await readWatches(() => false);
      await services.settled();
    }
    moveTo(midnight + 23 * HOUR_MS + 50 * MINUTE_MS);
    await readWatches(() => false);
    await services.settled();
    await follower.load();
    for (const other of others)
      for (const advertiser of ADVERTISERS) {
        for (let age = 1; age <= other.window; age++) {
          const date = isoDay(midnight - age * DAY_MS);
          other.table.replace(advertiser, date, platform.rowsOf(advertiser, date));
        }
        other.calls += 1;
      }
    for (const one of [
      { ...follower, sum: feed },
      ...others.map((other) => ({ table: other.table, sum: other })),
    ]) {
      const { wrong, all } = wrongCells(one.table, platform, midnight);
      one.sum.wrong += wrong;
      one.sum.all = all;
      if (wrong > 0) one.sum.nights += 1;
    }
    if ((day + 1) % 10 === 0) process.stderr.write(`${day + 1} of ${days} days\n`);
  }
  const atGateway = platform.counts.calls - calls;
  await world.close();
  const [, thirty] = others;
  const line = (name, { wrong, nights }, moved, made) =>
    `| ${name} | ${nights} of ${days} | ${number(wrong)} | ${number(moved)} | ${((100 * moved) / thirty.table.moved).toFixed(1)} % | ${number(made)} |`;
  const lines = [
    line('follows the feed; the gateway watches', feed, follower.table.moved, atGateway),
    ...others.map((other) =>
      line(`re-reads ${other.window} days each night`, other, other.table.moved, other.calls),
    ),
  ];
  process.stdout.write(
    `${days} days, seed ${values.seed}: ${ADVERTISERS.length} reports of ${CAMPAIGNS} campaigns, ${number(restated)} restatements of days 1 to ${AGES} days old; ${number(feed.all)} cells compared each midnight\n\n` +
      `| Loader | Midnights with wrong cells | Wrong cells, all midnights | Rows moved | of 30 days | Platform calls |\n|---|--:|--:|--:|--:|--:|\n${lines.join('\n')}\n`,
  );
  if (feed.wrong > 0) process.exitCode = 1;
}

const number = (value) => value.toLocaleString('en');

if (values['fan-out']) await fanOut(values.readers.split(',').map(Number));
else await compare();
