/**
 * Where the time of a hit, or of a miss, goes: a CPU profile of a gateway under load, its functions with most time of
 * their own, a flame graph, and, of misses, how long each stage of a request takes.
 *
 * Usage: npm run profile -- [--of hit|miss] [--seconds 8] [--out DIR]
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { flameGraph, readProfile, tableOf } from './support/flame-graph.mjs';
import { startGateway } from './support/gateway.mjs';
import { targetsOf } from './support/hit-peers.mjs';
import { end, firstLine, startNode, temporaryFolder } from './support/processes.mjs';

const { values } = parseArgs({
  options: {
    of: { type: 'string', default: 'hit' },
    seconds: { type: 'string', default: '8' },
    out: { type: 'string', default: 'profile' },
  },
});
const KINDS = ['hit', 'miss'];
if (!KINDS.includes(values.of)) {
  process.stderr.write(`--of is ${KINDS.join(' or ')}, not ${values.of}\n`);
  process.exit(2);
}
const CONNECTIONS = 8;
const [DAYS, REPORTS] = [9, 256];
const folder = temporaryFolder();
let asked = 0;
const platform = startNode([new URL('./support/platform.mjs', import.meta.url).pathname], {
  env: { DELAY_MS: values.of === 'miss' ? '20' : '0' },
});
const platformUrl = await firstLine(platform);

const profiled = await startGateway({ folder: join(folder, 'one'), platform: platformUrl, profile: folder });
// A start is another thing, and the first call of each report is a miss.
await load(profiled, (calls) => calls < 2 * REPORTS);
const beganUs = Number(process.hrtime.bigint() / 1000n);
await load(profiled, duringSeconds());
await end(profiled);
writeProfile();
if (values.of === 'miss') await tellStages();
await end(platform);
process.exit();

function duringSeconds() {
  const endMs = performance.now() + Number(values.seconds) * 1000;
  return () => performance.now() < endMs;
}

/** Hits ask for what was asked for before, misses for what nobody has. */
async function load({ url, keys }, goesOn) {
  const agent = new Agent({ connections: CONNECTIONS });
  const few = targetsOf(DAYS, REPORTS);
  let calls = 0;
  const caller = async () => {
    while (goesOn(calls)) {
      calls += 1;
      const target =
        values.of === 'hit'
          ? few[asked % few.length]
          : few[0].replace('advertiserId=1', `advertiserId=${asked + 1}`);
      asked += 1;
      const answer = await request(url + target, { headers: { 'x-api-key': keys[0] }, dispatcher: agent });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, caller));
  await agent.close();
}

/** Worker threads have profiles of their own; that of the event loop is the one with the server's own files. */
function writeProfile() {
  mkdirSync(values.out, { recursive: true });
  const [found] = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
    .filter(({ text }) => text.includes('/dist/cli.js'))
    .sort((a, b) => b.text.length - a.text.length);
  const root = readProfile(JSON.parse(found.text), beganUs);
  renameSync(join(folder, found.name), join(values.out, `${values.of}.cpuprofile`));
  writeFileSync(
    join(values.out, `${values.of}.svg`),
    flameGraph(root, `A ${values.of}: ${root.totalMs.toFixed(0)} ms`),
  );
  process.stdout.write(`| own time, % | function |\n|--:|---|\n${tableOf(root, 25).join('\n')}\n\n`);
  process.stdout.write(
    `${values.out}/${values.of}.svg is the flame graph; ${values.out}/${values.of}.cpuprofile opens in the DevTools of Chromium.\n`,
  );
}

/** As the debug log has them. */
async function tellStages() {
  const gateway = await startGateway({
    folder: join(folder, 'two'),
    platform: platformUrl,
    env: { LOG_LEVEL: 'debug' },
  });
  await load(gateway, duringSeconds());
  await end(gateway);
  const all = new Map();
  for (const line of readFileSync(join(folder, 'two', 'log'), 'utf8').split('\n')) {
    if (!line.includes('"stages":')) continue;
    let beganMs = 0;
    for (const { stage, endedMs } of JSON.parse(line).stages) {
      const list = all.get(stage) ?? [];
      list.push(endedMs - beganMs);
      all.set(stage, list);
      beganMs = endedMs;
    }
  }
  process.stdout.write('\n| Stage | p50, ms | p99, ms |\n|---|--:|--:|\n');
  for (const [stage, list] of all) {
    list.sort((a, b) => a - b);
    const at = (part) => list[Math.floor((list.length - 1) * part)].toFixed(2);
    process.stdout.write(`| ${stage} | ${at(0.5)} | ${at(0.99)} |\n`);
  }
}
