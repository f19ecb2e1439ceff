/**
 * Private memory (RssAnon) of a gateway's process, on the embedded store and with Redis: idle after its start, idle after
 * many different reports of 8 kB, and its growth during the second half of them.
 *
 * Usage: npm run bench:memory -- [--reports 6500] [--gzip] [--json]
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
    reports: { type: 'string', default: '6500' },
    gzip: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const DAYS = 9;
const CALLERS = 8;
const REST_MS = 5000;
const MIB = 1024 ** 2;

const folder = temporaryFolder();
const redis = await startRedis({ folder, core: CLIENT_CORE });
const platform = startNode([new URL('./support/platform.mjs', import.meta.url).pathname], {
  core: CLIENT_CORE,
});
const platformUrl = await firstLine(platform);
const targets = targetsOf(DAYS, Number(values.reports));
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
  const half = Math.floor(targets.length / 2);
  const idle = await ask(gateway, []);
  const middle = await ask(gateway, targets.slice(0, half));
  const after = await ask(gateway, targets.slice(half));
  const growth = ((after - middle) / (targets.length - half)) * 1e4;
  rows.push({ store, idleMib: idle / MIB, afterMib: after / MIB, growthMib: growth / MIB });
  await end(gateway);
}
await end(platform);
await end(redis);

if (values.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
else {
  process.stdout.write(
    `| Store | idle, MiB | after ${targets.length} reports, MiB | growth for 10,000, MiB |\n|---|--:|--:|--:|\n`,
  );
  for (const { store, idleMib, afterMib, growthMib } of rows)
    process.stdout.write(
      `| ${store} | ${idleMib.toFixed(0)} | ${afterMib.toFixed(0)} | ${growthMib.toFixed(0)} |\n`,
    );
}
