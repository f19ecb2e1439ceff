/**
 * Several gateways in one process, so that what is compiled, and the collector, are the same for all of them. GATEWAYS
 * (JSON) is a list of settings, as environments. The first line it prints has the address and a key of each, in order.
 * For each line it reads it waits until nothing is under way behind an answer, and prints the CPU time it has used,
 * microseconds. What it says begins with `> `.
 */
import { createInterface } from 'node:readline';
import { loadConfig } from '../../dist/modules/config/load.js';
import { run } from '../../dist/modules/server/run.js';

const LIMITS = { requestsPerMinute: 1_000_000, upstreamCallsPerDay: 100_000_000, maxConcurrent: 10_000 };
const SCOPES = ['report:read', 'cache:refresh'];

async function start(env) {
  const config = loadConfig({ HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', LOG_LEVEL: 'warn', ...env });
  const gateway = await run({ config, proxy: {}, planes: ['data', 'admin'] });
  const manage = async (path, body) => {
    const answer = await fetch(gateway.urls.get('admin') + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return answer.json();
  };
  await manage('/admin/v1/teams', { id: 'bench', advertisers: '*', limits: LIMITS, scopes: SCOPES });
  const { key } = await manage('/admin/v1/teams/bench/keys', {});
  return { gateway, url: gateway.urls.get('data'), key };
}

/** The gateways log to the same place. */
const say = (line) => process.stdout.write(`> ${line}\n`);

const running = [];
for (const env of JSON.parse(process.env.GATEWAYS)) running.push(await start(env));
say(JSON.stringify(running.map(({ url, key }) => ({ url, key }))));

process.once('SIGTERM', () => {
  void Promise.all(running.map(({ gateway }) => gateway.stop())).then(() => process.exit(0));
});
for await (const _line of createInterface({ input: process.stdin })) {
  for (const { gateway } of running) await gateway.services.settled();
  const { user, system } = process.cpuUsage();
  say(String(user + system));
}
