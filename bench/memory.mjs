/**
 * Private memory of a gateway's process for each 10,000 different reports of 8 kB that it was asked for, on the embedded
 * store and with Redis: RssAnon after a moment of rest, less what it was after a first 4,000 reports, by which the heap is
 * as large as the work needs it.
 *
 * Usage: npm run bench:memory -- [--reports 10000] [--gzip] [--json]
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { startGateway } from './support/gateway.mjs';
import { targetsOf } from './support/hit-peers.mjs';
import {
  CLIENT_CORE,
  end,
  firstLine,
  privateBytes,
  startNode,
  temporaryFolder,
} from './support/processes.mjs';
import { startRedis } from './support/redis.mjs';

const { values } = parseArgs({
  options: {
    reports: { type: 'string', default: '10000' },
    gzip: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const DAYS = 9;
const CALLERS = 8;
/** By then the heap is as large as the work needs it, whatever is kept. */
const WARM = 4000;
const REST_MS = 5000;
const MIB = 1024 ** 2;

const folder = temporaryFolder();
const redis = await startRedis({ folder, core: CLIENT_CORE });
const platform = startNode([new URL('./support/platform.mjs', import.meta.url).pathname], {
  core: CLIENT_CORE,
});
const platformUrl = await firstLine(platform);
const targets = targetsOf(DAYS, WARM + Number(values.reports));
const encoding = values.gzip ? { 'accept-encoding': 'gzip' } : {};

async function ask(gateway, all) {
  const agent = new Agent({ connections: CALLERS });
  const left = [...all];
  const caller = async () => {
    for (let target = left.pop(); target !== undefined; target = left.pop()) {
      const headers = { 'x-api-key': gateway.keys[0], ...encoding };
      const { statusCode, body } = await request(gateway.url + target, { headers, dispatcher: agent });
      await body.dump();
      if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  await agent.close();
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  return privateBytes(gateway.pid);
}

const rows = [];
for (const [store, env] of [
  ['embedded', {}],
  ['Redis', { REDIS_URL: redis.url }],
]) {
  const gateway = await startGateway({ folder: join(folder, store), platform: platformUrl, env });
  const before = await ask(gateway, targets.slice(0, WARM));
  const after = await ask(gateway, targets.slice(WARM));
  rows.push({
    store,
    beforeMib: before / MIB,
    perReportsMib: (after - before) / MIB / (Number(values.reports) / 1e4),
  });
  await end(gateway);
}
await end(platform);
await end(redis);

if (values.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
else {
  process.stdout.write('| Store | MiB before | MiB for 10,000 reports |\n|---|--:|--:|\n');
  for (const { store, beforeMib, perReportsMib } of rows)
    process.stdout.write(`| ${store} | ${beforeMib.toFixed(0)} | ${perReportsMib.toFixed(0)} |\n`);
}
