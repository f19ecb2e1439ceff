/**
 * What a start costs, until the gateway listens: the program as it is shipped beside its modules one by one, in turns.
 *
 *   npm run build && node bench/start.mjs [--runs 10]
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cpuUs, end, firstLine, SERVER_CORE, startNode, temporaryFolder } from './support/processes.mjs';

const { values } = parseArgs({ options: { runs: { type: 'string', default: '10' } } });
const BUILDS = { 'as shipped': 'dist/cli.js', 'its modules': 'dist/modules/cli.js' };
const folder = temporaryFolder();

async function startOnce(cli, name) {
  const beganMs = performance.now();
  const gateway = startNode([new URL(`../${cli}`, import.meta.url).pathname, 'serve'], {
    core: SERVER_CORE,
    env: {
      ...{ HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', PLATFORM_BASE_URL: 'http://127.0.0.1:9' },
      ...{ GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), ADMIN_TOKEN: 'bench-admin-token' },
      ...{ PLATFORM_TOKEN: 'bench-token', GATEWAY_DATA_DIR: join(folder, name) },
    },
  });
  await firstLine(gateway, (line) => line.includes('"msg":"listening"'));
  const took = { wallMs: performance.now() - beganMs, cpuMs: cpuUs(gateway.child.pid) / 1000 };
  await end(gateway);
  return took;
}

const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];

const taken = Object.keys(BUILDS).map((name) => ({ name, starts: [] }));
for (let run = 0; run < Number(values.runs); run++)
  for (const { name, starts } of taken) starts.push(await startOnce(BUILDS[name], `${run} ${name}`));
const rows = taken.map(({ name, starts }) => ({
  name,
  wall: median(starts.map(({ wallMs }) => wallMs)),
  cpu: median(starts.map(({ cpuMs: ms }) => ms)),
}));
process.stdout.write('| Build | Until it listens | CPU time | of the modules’ |\n|---|--:|--:|--:|\n');
for (const { name, wall, cpu } of rows)
  process.stdout.write(
    `| ${name} | ${wall.toFixed(0)} ms | ${cpu.toFixed(0)} ms | ${(cpu / rows[1].cpu).toFixed(2)} |\n`,
  );
