/**
 * Does a cached hit wait for somebody's big miss? Latency of a cached report at a steady rate, first idle, then
 * while 20 answers of about 30 MB are fetched, parsed, normalised, cut and sent: by another gateway on the same
 * machine, which shows what sharing its cores costs, and then by this one.
 *
 * Usage: npm run build && node bench/big-answers.mjs [--rate 200] [--answers 20] [--redis redis://…]
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '200' },
    answers: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '10' },
    redis: { type: 'string' },
  },
});
const RATE = Number(values.rate);
const ANSWERS = Number(values.answers);

function start(args, env) {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  return { child, lines };
}

const firstLine = ({ lines }, test) =>
  new Promise((resolve) => {
    lines.on('line', function listen(line) {
      if (!test(line)) return;
      lines.off('line', listen);
      resolve(line);
    });
  });

const folder = mkdtempSync(join(tmpdir(), 'dsp-gateway-bench-'));
const platform = start([new URL('./big-platform.mjs', import.meta.url).pathname], {});
const platformUrl = await firstLine(platform, () => true);

const LIMITS = { requestsPerMinute: 1_000_000, upstreamCallsPerDay: 100_000_000, maxConcurrent: 10_000 };

/** Settings of a gateway that shares its Redis with another. */
function prefixed(name) {
  const path = join(folder, `${name}.yaml`);
  writeFileSync(path, `redis:\n  prefix: bench-${name}\n`);
  return path;
}

/** A gateway of its own process and data, with a team that may see everything. */
async function startGateway(name) {
  const { child, lines } = start(['dist/cli.js', 'serve'], {
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    ADMIN_TOKEN: 'bench-admin-token',
    GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEWAY_DATA_DIR: join(folder, name),
    PLATFORM_BASE_URL: platformUrl,
    PLATFORM_TOKEN: 'bench-token',
    ...(values.redis === undefined ? {} : { REDIS_URL: values.redis, GATEWAY_CONFIG: prefixed(name) }),
  });
  const { urls } = JSON.parse(await firstLine({ lines }, (line) => line.includes('"msg":"listening"')));
  const manage = async (path, body) => {
    const response = await fetch(urls.admin + path, {
      method: 'POST',
      headers: { authorization: 'Bearer bench-admin-token', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  await manage('/admin/v1/teams', { id: 'bench', advertisers: '*', limits: LIMITS });
  const { key } = await manage('/admin/v1/teams/bench/keys', {});
  return { child, url: urls.data, key };
}

const day = (daysAgo) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
const reportUrl = ({ url }, advertiser, from, to) =>
  `${url}/api/v1/report/campaigns/get?advertiserId=${advertiser}&byDate=1&byCampaign=1&dateFrom=${from}&dateTo=${to}`;

const gateway = await startGateway('measured');
const other = await startGateway('other');
const agent = new Agent({ connections: 64 });
async function askCached() {
  const { statusCode, body } = await request(reportUrl(gateway, 1, day(12), day(10)), {
    dispatcher: agent,
    headers: { 'x-api-key': gateway.key },
  });
  await body.dump();
  if (statusCode !== 200) throw new Error(`the gateway answered ${statusCode}`);
}

/** Asks the cached report at a steady rate until `over` resolves. @returns latencies, ms, sorted */
async function measure(over) {
  const latencies = [];
  const pending = new Set();
  let running = true;
  void over.then(() => {
    running = false;
  });
  let next = performance.now();
  while (running) {
    const due = next;
    const one = askCached().then(() => latencies.push(performance.now() - due));
    pending.add(one);
    void one.finally(() => pending.delete(one));
    next += 1000 / RATE;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
  }
  await Promise.all(pending);
  return latencies.sort((a, b) => a - b);
}

/** In a process of its own: reading large bodies here would be measured as the gateway's slowness. */
async function bigAnswers(from, first) {
  const urls = Array.from({ length: ANSWERS }, (_, index) =>
    reportUrl(from, first + index, day(100), day(31)),
  );
  const caller = start([new URL('./big-caller.mjs', import.meta.url).pathname], {
    CALLS: JSON.stringify(urls),
    KEY: from.key,
  });
  return Number(await firstLine(caller, () => true));
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
await askCached();
await measure(sleep(3000));
const idle = await measure(sleep(Number(values.seconds) * 1000));
const beside = await measure(bigAnswers(other, 100));
let size = 0;
const busy = await measure(
  bigAnswers(gateway, 100).then((bytes) => {
    size = bytes;
  }),
);

for (const { child } of [gateway, other]) {
  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('exit', resolve));
}
platform.child.kill('SIGTERM');
await agent.close();
rmSync(folder, { recursive: true, force: true });

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
const row = (name, sorted) =>
  `| ${name} | ${sorted.length} | ${at(sorted, 0.5).toFixed(2)} | ${at(sorted, 0.99).toFixed(2)} | ${sorted.at(-1).toFixed(1)} |`;
const p99 = (sorted) => at(sorted, 0.99);
process.stdout.write(`${ANSWERS} answers of ${(size / 1e6).toFixed(1)} MB, hits at ${RATE} a second, ${values.redis === undefined ? 'embedded store' : 'Redis'}, ${availableParallelism()} cores

| | hits | p50 ms | p99 ms | max ms |
|---|--:|--:|--:|--:|
${row('idle', idle)}
${row('while another gateway on this machine processes them', beside)}
${row('while this gateway processes them', busy)}

p99 busy / idle: ${(p99(busy) / p99(idle)).toFixed(2)}
p99 busy / beside: ${(p99(busy) / p99(beside)).toFixed(2)}
`);
