/**
 * What the platform is asked: 60 virtual days of 12 teams' dashboards, replayed through the real gateway and the
 * simulator on a virtual clock, against other policies and the offline optimum. With `--causes`: what the calls above
 * the optimum are for, found by replays with one cause after another switched off.
 *
 * With `--finality` (modes, separated by commas): another trace, few requests a day and a platform whose days change by
 * curves, each advertiser's for 3, 7, 14 or 28 days; how many of the cells served were others than the platform's at that
 * instant, by the age of their day. `fixed:28` is `fixed` with `report.restatementDays: 28`. With `--unchecked` no answer is
 * held against a whole one of the platform, which finds and mends changed days as well.
 *
 * With `--evidence` (values of `report.crossCheckEvery`): one team alone; what it has in the end to judge joined answers by.
 *
 * Usage: npm run build && node bench/economics.mjs [--seed 1] [--days 60] [--causes]
 *        npm run build && node bench/economics.mjs --finality fixed,learned [--unchecked] [--seed 1] [--days 60]
 *        npm run build && node bench/economics.mjs --evidence 200,20 --days 7 [--seed 1]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { loadConfig } from '../dist/modules/config/load.js';
import { run } from '../dist/modules/server/run.js';
import { startSimulator } from '../dist/modules/simulator/simulator.js';
import {
  canonicalAgeAware,
  exactAgeAware,
  exactFixed,
  fewestCalls,
  fewestDayRows,
  noCache,
} from './policies.mjs';
import { createWrongCells } from './support/wrong-cells.mjs';
import { createSlowTrace, createTrace, ORIGIN_MS, queryOf } from './trace.mjs';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    days: { type: 'string', default: '60' },
    causes: { type: 'boolean', default: false },
    finality: { type: 'string' },
    unchecked: { type: 'boolean', default: false },
    evidence: { type: 'string' },
  },
});
const make = values.finality === undefined ? createTrace : createSlowTrace;
const teams = values.evidence === undefined ? 12 : 1;
const trace = make({ seed: Number(values.seed), days: Number(values.days), teams });

const DAY_MS = 86_400_000;

/**
 * @param settings further settings of the gateway, as YAML
 * @param switches further ones of the simulator
 * @param onAnswer told of each answer, with the simulator at that moment
 * @param onEnd told of the gateway's addresses and the key, before it stops
 */
async function replay(settings, { switches = {}, onAnswer = null, onEnd = null } = {}) {
  const simulator = await startSimulator({ switches: { rateLimitPerMinute: 0, ...switches } });
  const folder = mkdtempSync(join(tmpdir(), 'dsp-gateway-bench-'));
  const settingsFile = join(folder, 'settings.yaml');
  writeFileSync(settingsFile, settings);
  const config = loadConfig({
    GATEWAY_CONFIG: settingsFile,
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'error',
    PLATFORM_BASE_URL: simulator.url,
    PLATFORM_TOKEN: simulator.token,
    GATEWAY_DATA_DIR: join(folder, 'data'),
    GATEWAY_TEST_CLOCK: '1',
  });
  const gateway = await run({ config, proxy: {}, planes: ['data', 'admin'] });
  const { services } = gateway;
  const key = await createKey(gateway.urls.get('admin'), gateway.adminToken);
  const agent = new Agent({ connections: 1, pipelining: 1 });
  let dayRows = 0;
  let failed = 0;
  let done = 0;
  const countRows = () => {
    for (const call of simulator.calls) {
      const query = new URLSearchParams(call.path.split('?')[1] ?? call.url?.split('?')[1] ?? '');
      dayRows += (Date.parse(query.get('dateTo')) - Date.parse(query.get('dateFrom'))) / DAY_MS + 1;
    }
    simulator.clearCalls();
  };
  for (const one of trace) {
    const offsetMs = ORIGIN_MS + one.at * 1000 - Date.now();
    services.clock.moveTo(offsetMs);
    simulator.setOffset(offsetMs);
    const { statusCode, body } = await request(
      `${gateway.urls.get('data')}/api/v1/report/campaigns/get?${queryOf(one)}`,
      {
        dispatcher: agent,
        headers: { 'x-api-key': key },
      },
    );
    if (onAnswer === null || statusCode !== 200) await body.dump();
    else onAnswer(one, await body.json(), simulator);
    if (statusCode !== 200) failed += 1;
    // A refresh behind a stale answer belongs to the moment of its question.
    while (services.budget.running > 0) await new Promise((resolve) => setImmediate(resolve));
    // What is learned of it, too.
    if (onAnswer !== null || onEnd !== null) await services.settled();
    done += 1;
    if (simulator.calls.length > 500) countRows();
    if (done % 20_000 === 0)
      process.stderr.write(
        `${done} of ${trace.length} requests replayed, ${simulator.callCount} platform calls\n`,
      );
  }
  countRows();
  const calls = simulator.callCount;
  if (onEnd !== null) await onEnd(gateway.urls, key);
  await agent.close();
  await gateway.stop();
  await simulator.close();
  rmSync(folder, { recursive: true });
  if (failed > 0) throw new Error(`${failed} requests failed`);
  return { calls, dayRows };
}

async function createKey(adminUrl, adminToken) {
  const post = async (path, body) =>
    (
      await fetch(adminUrl + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    ).json();
  const limits = { requestsPerMinute: 1_000_000, upstreamCallsPerDay: 100_000_000, maxConcurrent: 10_000 };
  await post('/admin/v1/teams', { id: 'bench', advertisers: '*', limits });
  return (await post('/admin/v1/teams/bench/keys', {})).key;
}

/** The other policies know no empty days: their days without rows stay fresh for as long as days with rows. */
const PLAIN = { freshness: { emptySeconds: 3600, emptyFinalSeconds: 2592000 } };
const NO_CHECKS = { crossCheckEvery: 0 };
/** Nothing is learned, and so nothing is checked. */
const PINNED = { endpoints: { 'campaigns/get': { readByPost: true, divisible: 'always' } } };

/** @param report settings of reports, as they would stand in the YAML file */
const replayWith = (report) => replay(JSON.stringify({ report }));
const number = (value) => value.toLocaleString('en');
const print = (heading, lines) =>
  process.stdout.write(
    `${number(trace.length)} requests, seed ${values.seed}, ${values.days} days\n\n${[...heading, ...lines].join('\n')}\n`,
  );

async function printPolicies() {
  const optimum = { calls: fewestCalls(trace), dayRows: fewestDayRows(trace) };
  const exactAware = exactAgeAware(trace);
  const rows = [
    ['no cache', noCache(trace)],
    ['exact URL, 5 minutes', exactFixed(trace)],
    ['exact URL, age-aware', exactAware],
    ['canonical whole entries, age-aware', canonicalAgeAware(trace)],
    ['dsp-gateway', await replayWith(PLAIN)],
    ['dsp-gateway as shipped: empty days are looked at again sooner, until confirmed', await replayWith({})],
    ['optimum, if all requests were known (fewest calls; fewest days)', optimum],
  ];
  const heading = [
    '| Policy | Platform calls | Days fetched | Calls / optimum | Calls / exact URL age-aware |',
    '|---|--:|--:|--:|--:|',
  ];
  const lines = rows.map(
    ([name, { calls, dayRows }]) =>
      `| ${name} | ${number(calls)} | ${number(dayRows)} | ${(calls / optimum.calls).toFixed(3)} | ${(calls / exactAware.calls).toFixed(3)} |`,
  );
  print(heading, lines);
}

async function printCauses() {
  const optimum = fewestCalls(trace);
  const shipped = (await replayWith({})).calls;
  const unchecked = (await replayWith(NO_CHECKS)).calls;
  const pinned = (await replayWith(PINNED)).calls;
  const plain = (await replayWith({ ...PINNED, ...PLAIN })).calls;
  const rows = [
    ['the offline optimum', optimum],
    ['days that nobody had asked for before: the optimum knows the future', plain - optimum],
    ['days without rows, looked at again until a second look confirms them', pinned - plain],
    ['learning that reports may be split by day, once for each kind', unchecked - pinned],
    ['joins held against whole answers of the platform', shipped - unchecked],
    ['as shipped', shipped],
  ];
  const heading = ['| What for | Platform calls | Calls / optimum |', '|---|--:|--:|'];
  print(
    heading,
    rows.map(([name, calls]) => `| ${name} | ${number(calls)} | ${(calls / optimum).toFixed(3)} |`),
  );
}

/** @param mode `fixed`, `observe`, `learned`, or `fixed:28`: with that many days of restatement */
async function replayFinality(mode) {
  const [name, days] = mode.split(':');
  const wrong = createWrongCells();
  const began = Date.now();
  const { calls, dayRows } = await replay(
    JSON.stringify({
      finality: { mode: name },
      report: {
        ...(values.unchecked ? NO_CHECKS : {}),
        ...(days === undefined ? {} : { restatementDays: Number(days) }),
      },
    }),
    { switches: { completion: 'curves' }, onAnswer: wrong.note },
  );
  process.stderr.write(`${mode}: ${Math.round((Date.now() - began) / 1000)} s\n`);
  return { mode, calls, dayRows, ...wrong.count() };
}

async function printFinality() {
  const rows = [];
  for (const mode of values.finality.split(',')) rows.push(await replayFinality(mode));
  const share = ({ wrong, served }) => `${number(wrong)} of ${number(served)}`;
  print(
    [
      `| finality.mode | Platform calls | Days fetched | wrong, called final | ${rows[0].ages.map(({ title }) => `wrong, ${title}`).join(' | ')} | all wrong |`,
      `|---|--:|--:|--:|${rows[0].ages.map(() => '--:|').join('')}--:|`,
    ],
    rows.map(
      ({ mode, calls, dayRows, final, ages, all }) =>
        `| ${mode} | ${number(calls)} | ${number(dayRows)} | ${share(final)} | ${ages.map(share).join(' | ')} | ${share(all)} |`,
    ),
  );
}

/** @returns of each report by date: requests, dates fetched again at an age of a week or more, and verdicts */
async function readEvidence(urls, key) {
  const rows = [];
  for (const id of new Set(trace.map(({ advertiser }) => advertiser))) {
    const headers = { 'x-api-key': key };
    const answer = await fetch(`${urls.get('data')}/gateway/v1/truth?advertiserId=${id}`, { headers });
    for (const { split, ages } of (await answer.json()).data) {
      const sum = (all, name) => all.reduce((total, age) => total + age[name], 0);
      const byCampaign = split.includes('campaign');
      const ofReport = (one) => one.advertiser === id && one.byDate && one.byCampaign === byCampaign;
      rows.push({
        report: `${id}, by ${split.join(' and ')}`,
        requests: trace.filter(ofReport).length,
        old: sum(
          ages.filter(({ ageDays }) => ageDays >= 7),
          'n',
        ),
        wrong: sum(ages, 'wrong'),
        ofOneAge: Math.max(...ages.map(({ n }) => n)),
        atMost: Math.min(...ages.map(({ wrongPercentAtMost }) => wrongPercentAtMost)),
      });
    }
  }
  return rows.sort((a, b) => b.requests - a.requests);
}

async function printEvidence() {
  for (const every of values.evidence.split(',')) {
    let [rows, compared] = [[], '0'];
    const onEnd = async (urls, key) => {
      rows = await readEvidence(urls, key);
      const metrics = await (await fetch(`${urls.get('admin')}/metrics`)).text();
      compared = /^dsp_gateway_audits_total (\d+)/m.exec(metrics)?.[1] ?? '0';
    };
    const { calls } = await replay(JSON.stringify({ report: { crossCheckEvery: Number(every) } }), { onEnd });
    const said = `crossCheckEvery ${every}: ${calls} platform calls, ${compared} joins compared\n`;
    const heading = [
      '| Report | Requests | n, 7 days or older | wrong | most n of one age | least wrongPercentAtMost |',
      '|---|--:|--:|--:|--:|--:|',
    ];
    print(
      [said, ...heading],
      rows.map((row) => `| ${Object.values(row).join(' | ')} |`),
    );
  }
}

if (values.evidence !== undefined) await printEvidence();
else if (values.finality !== undefined) await printFinality();
else await (values.causes ? printCauses() : printPolicies());
