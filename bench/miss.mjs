/**
 * What a miss adds to a direct call of the platform: the middle latency of calls that nobody asked before, through the
 * gateway and past it, alternating, at a platform that takes 20 ms. First right after the start, while V8 has compiled
 * little; then, after many misses, for a report whose division by day is not proven yet, and for one where it is.
 *
 * Usage: npm run bench:miss -- [--redis redis://…, an empty one] [--rounds 5] [--calls 200] [--warm 3000] [--json]
 */
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { startGateway } from './support/gateway.mjs';
import { cpuUs, end, firstLine, startNode, temporaryFolder, threadMs } from './support/processes.mjs';

const { values } = parseArgs({
  options: {
    redis: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    calls: { type: 'string', default: '200' },
    warm: { type: 'string', default: '3000' },
    json: { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
});
const CONNECTIONS = [1, 8];

const platform = startNode([new URL('./support/platform.mjs', import.meta.url).pathname], {
  env: { DELAY_MS: '20' },
});
const platformUrl = await firstLine(platform);
const gateway = await startGateway({
  folder: temporaryFolder(),
  platform: platformUrl,
  env: values.redis === undefined ? {} : { REDIS_URL: values.redis },
  profile: values.profile ?? null,
});

let advertiser = 0;
const NINE_DAYS = 'dateFrom=2026-06-22&dateTo=2026-06-30';
const CASES = [
  { title: 'fresh start', split: 'byCampaign' },
  { title: 'not proven', split: 'byCampaign', warm: Number(values.warm) },
  { title: 'proven', split: 'byCreative', warm: Number(values.warm), isProven: true },
];

/** Nobody has asked for this advertiser before. */
function nextTarget(split) {
  advertiser += 1;
  return targetOf(split, advertiser, NINE_DAYS);
}

const targetOf = (split, id, period) =>
  `/api/v1/report/campaigns/get?advertiserId=${id}&byDate=1&${split}=1&${period}`;

/** @returns the middle latency of so many calls at once, milliseconds */
async function middle({ url, headers = {} }, split, connections, calls = Number(values.calls)) {
  const agent = new Agent({ connections });
  const latencies = [];
  let left = calls;
  const caller = async () => {
    for (; left > 0; ) {
      left -= 1;
      const target = nextTarget(split);
      const startedMs = performance.now();
      const { statusCode, body } = await request(url + target, { headers, dispatcher: agent });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
      latencies.push(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: connections }, caller));
  await agent.close();
  return latencies.sort((a, b) => a - b)[Math.floor(latencies.length / 2)];
}

/** Milliseconds of the whole process, and of its event loop's thread. */
function cpuOf(pid) {
  return [cpuUs(pid) / 1000, threadMs(pid).ran];
}

/** Asks for periods that overlap, so that their common days are compared, until days are fetched one by one. */
async function prove({ url, headers }, split) {
  for (let day = 1; day <= 20; day += 1) {
    const period = (from) => `dateFrom=2026-05-${10 + from}&dateTo=2026-06-${10 + from}`;
    const { headers: said, body } = await request(url + targetOf(split, 1, period(day)), { headers });
    await body.dump();
    if (/detail="days=/.test(said['cache-status'])) return;
  }
  throw new Error(`reports by ${split} are not divided by day`);
}

const through = { url: gateway.url, headers: { 'x-api-key': gateway.keys[0] } };

/** One round. @returns milliseconds */
async function compare(split, connections) {
  const direct = await middle({ url: platformUrl }, split, connections);
  const before = cpuOf(gateway.pid);
  const answered = await middle(through, split, connections);
  const [cpu, loop] = cpuOf(gateway.pid).map((used, at) => (used - before[at]) / Number(values.calls));
  return { direct, through: answered, added: answered - direct, cpu, loop };
}

const rows = [];
for (const { title, split, warm = 0, isProven = false } of CASES) {
  if (isProven) await prove(through, split);
  if (warm > 0) await middle(through, split, Math.max(...CONNECTIONS), warm);
  for (const connections of CONNECTIONS) {
    const rounds = [];
    // A fresh start has no second round.
    for (let round = 0; round < (warm > 0 ? Number(values.rounds) : 1); round += 1)
      rounds.push(await compare(split, connections));
    rounds.sort((a, b) => a.added - b.added);
    rows.push({ title, connections, ...rounds[Math.floor(rounds.length / 2)] });
  }
}
await end(gateway);
await end(platform);

const store = values.redis === undefined ? 'embedded' : 'Redis';
if (values.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
else {
  process.stdout.write(
    '| Store | Report | Connections | direct, ms | through the gateway, ms | added, ms | CPU, ms | of it event loop |\n|---|---|--:|--:|--:|--:|--:|--:|\n',
  );
  for (const { title, connections, direct, through, added, cpu, loop } of rows)
    process.stdout.write(
      `| ${store} | ${title} | ${connections} | ${direct.toFixed(1)} | ${through.toFixed(1)} | ${added.toFixed(1)} | ${cpu.toFixed(1)} | ${loop.toFixed(1)} |\n`,
    );
}
