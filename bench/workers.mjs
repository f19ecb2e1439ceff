/**
 * What a second process brings: cached hits a second with `WORKERS=1` and `WORKERS=2`, in alternating rounds, on as many
 * cores as there are workers, with one more for what asks. 256 different reports of 8 kB, 8 teams, 64 connections.
 *
 * Usage: npm run bench:workers -- [--workers 1,2] [--seconds 3] [--rounds 3] [--json]
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startGateway } from './support/gateway.mjs';
import { answering, targetsOf, warm } from './support/hit-peers.mjs';
import { end, firstLine, freePort, startNode, temporaryFolder } from './support/processes.mjs';
import { startRedis } from './support/redis.mjs';
import { load } from './support/wrk.mjs';

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '1,2' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const COUNTS = values.workers.split(',').map(Number);
const CORES = availableParallelism();
const TEAMS = 8;
const targets = targetsOf(9);
const folder = temporaryFolder();

const platform = startNode([new URL('./support/platform.mjs', import.meta.url).pathname]);
const address = await firstLine(platform);

async function startOne(workers) {
  // Workers do not say where they listen.
  const port = await freePort();
  const redis = await startRedis({ folder });
  const started = await startGateway({
    folder: join(folder, `workers-${workers}`),
    platform: address,
    env: { WORKERS: String(workers), PORT: String(port), REDIS_URL: redis.url },
    core: `0-${Math.min(workers, CORES) - 1}`,
    teams: TEAMS,
  });
  const gateway = { ...started, url: await answering(port) };
  await warm({ name: `${workers} workers`, ...gateway, targets });
  return { workers, gateway, redis, rounds: [] };
}

const all = [];
for (const workers of COUNTS) all.push(await startOne(workers));
for (let round = 0; round <= Number(values.rounds); round++)
  for (const { gateway, rounds } of all) {
    const one = await load({
      ...gateway,
      ...{ targets, folder, seconds: Number(values.seconds), core: String(CORES - 1) },
    });
    // The first round warms up each worker's memory.
    if (round > 0) rounds.push(one);
  }
for (const { gateway, redis } of all) {
  await end(gateway);
  await end(redis);
}
await end(platform);

const middle = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const rows = all.map(({ workers, rounds }) => ({
  workers,
  rps: middle(rounds.map(({ rps }) => rps)),
  cpuUs: middle(rounds.map(({ cpuUs }) => cpuUs)),
  p99Ms: middle(rounds.map(({ p99Ms }) => p99Ms)),
  failed: Math.max(...rounds.map(({ failed }) => failed)),
}));
const needed = Math.max(...COUNTS) + 1;
const lacking =
  CORES < needed
    ? `${CORES} cores are too few: ${needed} are needed for ${Math.max(...COUNTS)} workers and what asks them, which share a core here.`
    : null;

if (values.json) process.stdout.write(`${JSON.stringify({ cores: CORES, lacking, rows })}\n`);
else
  process.stdout.write(
    [
      '| Workers | requests/s | against one | CPU µs | p99 ms | failed |',
      '|--:|--:|--:|--:|--:|--:|',
      ...rows.map(
        ({ workers, rps, cpuUs, p99Ms, failed }) =>
          `| ${workers} | ${rps.toFixed(0)} | ${(rps / rows[0].rps).toFixed(2)} | ${cpuUs.toFixed(1)} | ${p99Ms.toFixed(1)} | ${failed} |`,
      ),
      ...(lacking === null ? [] : ['', lacking]),
      '',
    ].join('\n'),
  );
