/** A gateway as it is shipped, with teams whose limits are never reached. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, lineIn, startNode } from './processes.mjs';

const CLI = new URL('../../dist/cli.js', import.meta.url).pathname;
const LOOP_WATCH = new URL('./loop-watch.mjs', import.meta.url).pathname;
const LIMITS = { requestsPerMinute: 1_000_000, upstreamCallsPerDay: 100_000_000, maxConcurrent: 10_000 };

/**
 * @param folder where its data goes
 * @param env settings beside those that every benchmark needs
 * @param profile a folder for its CPU profile, written when it ends
 * @param watched whether it tells how late its event loop is
 * @param silent whether it logs only warnings; then it is polled until it listens
 * @param advertisers of each team, by its index; default: all
 * @returns its process, its address, and a key for each team; `loop` returns the delays since its last call
 */
export async function startGateway(options) {
  const {
    folder,
    platform,
    env = {},
    core = null,
    teams = 1,
    advertisers = () => '*',
    profile = null,
    watched = false,
    silent = false,
  } = options;
  mkdirSync(folder, { recursive: true });
  const profiled =
    profile === null
      ? (process.env.NODE_ARGS?.split(' ') ?? [])
      : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const watch = join(folder, 'loop');
  const chosen = silent ? await chosenPorts() : { PORT: '0', ADMIN_PORT: '0' };
  // A reader of its log would take its share of the cores.
  const output = join(folder, 'log');
  const running = startNode([...profiled, ...(watched ? ['--import', LOOP_WATCH] : []), CLI, 'serve'], {
    ...{ core, output },
    env: {
      HOST: '127.0.0.1',
      ...chosen,
      ADMIN_TOKEN: 'bench-admin-token',
      GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEWAY_DATA_DIR: join(folder, 'data'),
      PLATFORM_BASE_URL: platform,
      PLATFORM_TOKEN: 'bench-token',
      LOOP_WATCH: watch,
      ...env,
    },
  });
  const urls = silent ? await urlsOf(chosen) : await urlsIn(output);
  const keys = [];
  for (let n = 1; n <= teams; n++) {
    await manage(urls.admin, '/admin/v1/teams', {
      ...{ id: `team-${n}`, advertisers: advertisers(n - 1), limits: LIMITS },
    });
    keys.push((await manage(urls.admin, `/admin/v1/teams/team-${n}/keys`, {})).key);
  }
  const { pid } = running.child;
  return { ...running, pid, url: urls.data, admin: urls.admin, keys, loop: () => askLoop(pid, watch) };
}

async function chosenPorts() {
  return { PORT: String(await freePort()), ADMIN_PORT: String(await freePort()), LOG_LEVEL: 'warn' };
}

async function urlsIn(output) {
  return JSON.parse(await lineIn(output, (line) => line.includes('"msg":"listening"'))).urls;
}

async function urlsOf({ PORT, ADMIN_PORT }) {
  const urls = { data: `http://127.0.0.1:${PORT}`, admin: `http://127.0.0.1:${ADMIN_PORT}` };
  for (const url of Object.values(urls)) await answers(`${url}/healthz`);
  return urls;
}

async function answers(url) {
  for (let tries = 0; tries < 400; tries++) {
    if (
      await fetch(url).then(
        (answer) => answer.ok,
        () => false,
      )
    )
      return;
    await sleep(50);
  }
  throw new Error(`nothing answers at ${url}`);
}

async function askLoop(pid, file) {
  const lines = () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []);
  const before = lines().length;
  process.kill(pid, 'SIGUSR2');
  while (lines().length === before) await sleep(20);
  return JSON.parse(lines().at(-1));
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
