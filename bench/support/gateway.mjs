/** A gateway as it is shipped, with teams that may see everything and ask without end. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { lineIn, startNode } from './processes.mjs';

const CLI = new URL('../../dist/cli.js', import.meta.url).pathname;
const LIMITS = { requestsPerMinute: 1_000_000, upstreamCallsPerDay: 100_000_000, maxConcurrent: 10_000 };

/**
 * @param folder where its data goes
 * @param env settings beside those that every benchmark needs
 * @param profile a folder for its CPU profile, written when it ends
 * @returns its process, its address, and a key for each team
 */
export async function startGateway({ folder, platform, env = {}, core = null, teams = 1, profile = null }) {
  mkdirSync(folder, { recursive: true });
  const profiled =
    profile === null
      ? (process.env.NODE_ARGS?.split(' ') ?? [])
      : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  // A reader of its log would take its share of the cores.
  const output = join(folder, 'log');
  const running = startNode([...profiled, CLI, 'serve'], {
    ...{ core, output },
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
      ADMIN_TOKEN: 'bench-admin-token',
      GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEWAY_DATA_DIR: join(folder, 'data'),
      PLATFORM_BASE_URL: platform,
      PLATFORM_TOKEN: 'bench-token',
      ...env,
    },
  });
  const { urls } = JSON.parse(await lineIn(output, (line) => line.includes('"msg":"listening"')));
  const keys = [];
  for (let n = 1; n <= teams; n++) {
    await manage(urls.admin, '/admin/v1/teams', { id: `team-${n}`, advertisers: '*', limits: LIMITS });
    keys.push((await manage(urls.admin, `/admin/v1/teams/team-${n}/keys`, {})).key);
  }
  return { ...running, pid: running.child.pid, url: urls.data, admin: urls.admin, keys };
}

async function manage(url, path, body) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: 'Bearer bench-admin-token', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}
