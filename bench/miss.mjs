/**
 * What a miss adds to a direct call of the platform: the middle latency of calls that nobody asked before, through the
 * gateway and past it, alternating, at a platform that takes 20 ms.
 *
 * A process that has just started runs code that V8 has not compiled yet, at three times the cost: so many misses come first.
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
/** Nobody has asked for this advertiser before. */
function nextTarget() {
  advertiser += 1;
  return `/api/v1/report/campaigns/get?advertiserId=${advertiser}&byDate=1&byCampaign=1&dateFrom=2026-06-22&dateTo=2026-06-30`;
}

/** @returns the middle latency of so many calls at once, milliseconds */
async function middle(url, headers, connections, calls = Number(values.calls)) {
  const agent = new Agent({ connections });
  const latencies = [];
  let left = calls;
  const caller = async () => {
    for (; left > 0; ) {
      left -= 1;
      const target = nextTarget();
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

await middle(gateway.url, { 'x-api-key': gateway.keys[0] }, Math.max(...CONNECTIONS), Number(values.warm));
const rows = [];
for (const connections of CONNECTIONS) {
  const added = [];
  // The first round warms up.
  for (let round = 0; round <= Number(values.rounds); round++) {
    const direct = await middle(platformUrl, {}, connections);
    const before = cpuOf(gateway.pid);
    const through = await middle(gateway.url, { 'x-api-key': gateway.keys[0] }, connections);
    const after = cpuOf(gateway.pid);
    const [cpu, loop] = after.map((used, at) => (used - before[at]) / Number(values.calls));
    if (round > 0) added.push({ direct, through, added: through - direct, cpu, loop });
  }
  rows.push({ connections, ...added.sort((a, b) => a.added - b.added)[Math.floor(added.length / 2)] });
}
await end(gateway);
await end(platform);

const store = values.redis === undefined ? 'embedded' : 'Redis';
if (values.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
else {
  process.stdout.write(
    '| Store | Connections | direct, ms | through the gateway, ms | added, ms | CPU, ms | of it event loop |\n|---|--:|--:|--:|--:|--:|--:|\n',
  );
  for (const { connections, direct, through, added, cpu, loop } of rows)
    process.stdout.write(
      `| ${store} | ${connections} | ${direct.toFixed(1)} | ${through.toFixed(1)} | ${added.toFixed(1)} | ${cpu.toFixed(1)} | ${loop.toFixed(1)} |\n`,
    );
}
