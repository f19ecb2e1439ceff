/**
 * `npm run dev`: a simulated platform, the gateway and its two pages, from source. A change of `src/` starts the gateway anew in
 * this process, with the modules that did not change; a change of `src/web/` is shown by the page at once. Threads of
 * the cache, the look into a data folder and `/docs` are those of the last build.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer as createPort } from 'node:net';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createServer, createServerModuleRunner } from 'vite';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Teams, keys and history outlive a restart; `--fresh` begins anew. */
const FOLDER = process.env.GATEWAY_DATA_DIR ?? join(ROOT, 'node_modules', '.cache', 'dsp-gateway-dev');
const ADMIN_TOKEN = 'dev-admin-token-of-this-machine';
const TEAM = { id: 'dev', advertisers: '*', scopes: ['report:read', 'platform:read', 'report:pin', 'mcp'] };
/** Editors write a file in several steps. */
const QUIET_MS = 50;
const say = (text) => process.stdout.write(`${text}\n`);

if (process.argv.includes('--help')) {
  say(
    'npm run dev [-- --fresh]\n\nRuns simulator, gateway and pages from source, and follows changes.\n--fresh  forgets teams, keys and history of earlier runs\nPORT, ADMIN_PORT, LOG_LEVEL and GATEWAY_DATA_DIR are those of the gateway.',
  );
  process.exit(0);
}
if (!['pages', 'web', 'workers'].every((name) => existsSync(join(ROOT, 'dist', name)))) {
  say('dist/ is not whole: run npm run build first.');
  process.exit(1);
}
if (process.argv.includes('--fresh')) await rm(FOLDER, { recursive: true, force: true });

/** @returns the wanted port when nobody listens on it, else any free one */
const freePort = (wanted) =>
  new Promise((resolve) => {
    const probe = createPort()
      .once('error', () => resolve(freePort(0)))
      .once('listening', () => {
        const { port } = probe.address();
        probe.close(() => resolve(port));
      })
      .listen(wanted, '127.0.0.1');
  });

const source = await createServer({
  root: join(ROOT, 'src'),
  configFile: false,
  logLevel: 'warn',
  appType: 'custom',
  server: { middlewareMode: true, hmr: false, ws: false },
  optimizeDeps: { noDiscovery: true },
});
const runner = createServerModuleRunner(source.environments.ssr, { hmr: false });
const load = (path) => runner.import(`/${path}`);

const [port, adminPort] = [
  await freePort(Number(process.env.PORT ?? 8080)),
  await freePort(Number(process.env.ADMIN_PORT ?? 8081)),
];

let simulator = null;
async function startSimulator() {
  await simulator?.close();
  const { startSimulator: start } = await load('simulator/simulator.ts');
  simulator = await start({ switches: { rateLimitPerMinute: 0, latencyMs: 40, accountNames: 'plain' } });
}

let gateway = null;
async function startGateway() {
  const [{ loadConfig }, { run }] = await Promise.all([load('config/load.ts'), load('server/run.ts')]);
  const config = loadConfig({
    HOST: '127.0.0.1',
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
    PLATFORM_BASE_URL: simulator.url,
    PLATFORM_TOKEN: simulator.token,
    GATEWAY_DATA_DIR: FOLDER,
    ADMIN_TOKEN,
  });
  gateway = await run({ config, proxy: {}, planes: ['data', 'admin'] });
}

async function admin(path, body) {
  const response = await fetch(`http://127.0.0.1:${adminPort}/admin/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, answer: await response.json() };
}

/** @returns a page's address; what is no file of its source is asked of the gateway */
async function startPage(name, gatewayPort) {
  const page = await createServer({
    configFile: join(ROOT, 'src', 'web', 'vite.config.ts'),
    mode: name,
    base: '/',
    logLevel: 'warn',
    server: {
      host: '127.0.0.1',
      port: await freePort(name === 'console' ? 5173 : 5174),
      proxy: Object.fromEntries(
        ['/admin', '/gateway', '/api', '/openapi.json', '/docs', '/metrics'].map((path) => [
          path,
          { target: `http://127.0.0.1:${gatewayPort}` },
        ]),
      ),
    },
  });
  await page.listen();
  return page.resolvedUrls.local[0];
}

let waiting = new Set();
let running = Promise.resolve();
function follow(path) {
  if (!path.startsWith(join(ROOT, 'src') + sep) || path.includes(`${sep}web${sep}`)) return;
  waiting.add(path);
  setTimeout(() => {
    running = running.then(restart);
  }, QUIET_MS);
}

async function restart() {
  if (waiting.size === 0) return;
  const changed = [...waiting];
  waiting = new Set();
  const startedMs = performance.now();
  try {
    await gateway?.stop();
    gateway = null;
    runner.clearCache();
    if (changed.some((path) => path.includes(`${sep}simulator${sep}`))) await startSimulator();
    await startGateway();
    const names = changed.map((path) => path.slice(ROOT.length)).join(', ');
    say(`${names}: the gateway runs again after ${Math.round(performance.now() - startedMs)} ms`);
  } catch (error) {
    say(`the gateway did not start; correct the file:\n${error.stack ?? error}`);
  }
}

const startedMs = performance.now();
await startSimulator();
await startGateway();
const pages = [await startPage('console', adminPort), await startPage('explorer', port)];
const team = await admin('/teams', TEAM);
const issued = await admin(`/teams/${TEAM.id}/keys`, { label: 'dev' });
source.watcher.on('all', (_event, path) => follow(path));
say(`Started after ${Math.round(performance.now() - startedMs)} ms, from source; changes of src/ are followed.

  console   ${pages[0]}  admin token ${ADMIN_TOKEN}
  explorer  ${pages[1]}  team key ${issued.answer.key}
  gateway   http://127.0.0.1:${port}, admin plane http://127.0.0.1:${adminPort}
  platform  ${simulator.url} (${team.status === 201 ? 'a new data folder' : 'the data folder of the last run'}; --fresh empties it)

  curl -H "Authorization: Bearer ${issued.answer.key}" "http://127.0.0.1:${port}/api/v1/report/campaigns/get?advertiserId=1&byDate=1&_period=last_7_days"

Ctrl-C stops it.`);

async function end() {
  await running;
  await gateway?.stop();
  await simulator.close();
  process.exit(0);
}
// Vite ends the process by a listener of its own, and would not wait for the gateway.
for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal).once(signal, () => void end());
