/**
 * How long until reports are answered again, with a data folder: after `kill -9`, and by a restore after its loss.
 *
 *   npm run build && node bench/recover.mjs [--reports 2000] [--teams 50]
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startGateway } from './support/gateway.mjs';
import { end, firstLine, startNode, temporaryFolder } from './support/processes.mjs';

const { values } = parseArgs({
  options: { reports: { type: 'string', default: '2000' }, teams: { type: 'string', default: '50' } },
});
const folder = temporaryFolder();
const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
const path = (name) => new URL(name, import.meta.url).pathname;
const env = {
  ADMIN_TOKEN: 'bench-admin-token',
  GATEWAY_DATA_DIR: data,
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
};
const say = (text) => process.stdout.write(`${text}\n`);

const source = startNode(path('./support/platform.mjs'));
const platform = await firstLine(source);
let runs = 0;
const serve = (teams) => startGateway({ folder: join(folder, `run-${runs++}`), platform, env, teams });

async function ask(gateway, key, advertiser) {
  const query = `advertiserId=${advertiser}&byDate=1&byCampaign=1&dateFrom=2026-10-01&dateTo=2026-10-30`;
  const answer = await fetch(`${gateway.url}/api/v1/report/campaigns/get?${query}`, {
    headers: { 'x-api-key': key },
  });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`a report was answered ${answer.status}`);
}

/** A start until the report of a team that the store knows is answered. */
async function backAgain(key) {
  const beganMs = performance.now();
  const gateway = await serve(0);
  await ask(gateway, key, 1);
  return { gateway, seconds: (performance.now() - beganMs) / 1000 };
}

function command(...args) {
  const beganMs = performance.now();
  execFileSync(process.execPath, [path('../dist/cli.js'), 'store', ...args], {
    env: { ...process.env, ...env },
  });
  return (performance.now() - beganMs) / 1000;
}

const first = await serve(Number(values.teams));
const [key] = first.keys;
for (let asked = 0; asked < Number(values.reports); asked += 8)
  await Promise.all(Array.from({ length: 8 }, (_, n) => ask(first, key, 1 + asked + n)));
const backup = command('backup', copy, '--url', first.admin);
const size = execFileSync('du', ['-sm', data], { encoding: 'utf8' }).split('\t')[0];

first.child.kill('SIGKILL');
await once(first.child, 'exit');
const killed = await backAgain(key);
await end(killed.gateway);

rmSync(data, { recursive: true });
const restore = command('restore', copy);
const restored = await backAgain(key);
await end(restored.gateway);
await end(source);

const told = (seconds) => `${seconds.toFixed(1)} s`;
say(`${values.teams} teams, ${values.reports} reports of 30 days, data folder ${size} MiB\n`);
say('| | |\n|---|--:|');
say(`| start after kill -9, until a report is answered | ${told(killed.seconds)} |`);
say(`| store backup, while it runs | ${told(backup)} |`);
say(`| store restore of that backup | ${told(restore)} |`);
say(`| start after it, until a report is answered | ${told(restored.seconds)} |`);
