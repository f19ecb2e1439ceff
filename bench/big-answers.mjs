/**
 * Does a cached hit wait for somebody's big miss? Latency of a cached report at a steady rate, first idle, then
 * while 20 answers of about 30 MB are fetched, parsed, normalised, cut and sent.
 *
 * Usage: npm run build && node bench/big-answers.mjs [--rate 200] [--answers 20] [--redis redis://…]
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
const gateway = start(['dist/cli.js', 'serve'], {
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_PORT: '0',
  ADMIN_TOKEN: 'bench-admin-token',
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  GATEWAY_DATA_DIR: join(folder, 'data'),
  PLATFORM_BASE_URL: platformUrl,
  PLATFORM_TOKEN: 'bench-token',
  ...(values.redis === undefined ? {} : { REDIS_URL: values.redis }),
});
const { urls } = JSON.parse(await firstLine(gateway, (line) => line.includes('"msg":"listening"')));
const manage = async (path, body) =>
  (
    await fetch(urls.admin + path, {
      method: 'POST',
      headers: { authorization: 'Bearer bench-admin-token', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  ).json();
const limits = { requestsPerMinute: 1_000_000, upstreamCallsPerDay: 100_000_000, maxConcurrent: 10_000 };
await manage('/admin/v1/teams', { id: 'bench', advertisers: '*', limits });
const { key } = await manage('/admin/v1/teams/bench/keys', {});

const agent = new Agent({ connections: 64 });
const day = (daysAgo) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
const ask = async (advertiser, from, to) => {
  const query = `advertiserId=${advertiser}&byDate=1&byCampaign=1&dateFrom=${from}&dateTo=${to}`;
  const url = `${urls.data}/api/v1/report/campaigns/get?${query}`;
  const { statusCode, body } = await request(url, { dispatcher: agent, headers: { 'x-api-key': key } });
  let size = 0;
  for await (const chunk of body) size += chunk.length;
  if (statusCode !== 200) throw new Error(`the gateway answered ${statusCode}`);
  return size;
};

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
    const one = ask(1, day(12), day(10)).then(() => latencies.push(performance.now() - due));
    pending.add(one);
    void one.finally(() => pending.delete(one));
    next += 1000 / RATE;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
  }
  await Promise.all(pending);
  return latencies.sort((a, b) => a - b);
}

async function bigAnswers() {
  let size = 0;
  for (let index = 0; index < ANSWERS; index++) size = await ask(100 + index, day(100), day(31));
  return size;
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
await ask(99, day(100), day(31));
await ask(1, day(12), day(10));
await measure(sleep(3000));
const idle = await measure(sleep(Number(values.seconds) * 1000));
let size = 0;
const startedAt = performance.now();
const busy = await measure(
  bigAnswers().then((bytes) => {
    size = bytes;
  }),
);
const seconds = (performance.now() - startedAt) / 1000;

gateway.child.kill('SIGTERM');
platform.child.kill('SIGTERM');
await new Promise((resolve) => gateway.child.once('exit', resolve));
await agent.close();
rmSync(folder, { recursive: true, force: true });

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
const row = (name, sorted) =>
  `| ${name} | ${sorted.length} | ${at(sorted, 0.5).toFixed(2)} | ${at(sorted, 0.99).toFixed(2)} | ${sorted.at(-1).toFixed(1)} |`;
process.stdout.write(`${ANSWERS} answers of ${(size / 1e6).toFixed(1)} MB in ${seconds.toFixed(1)} s, hits at ${RATE} a second, ${values.redis === undefined ? 'embedded store' : 'Redis'}

| | hits | p50 ms | p99 ms | max ms |
|---|--:|--:|--:|--:|
${row('idle', idle)}
${row('while big answers are processed', busy)}

p99 busy / idle: ${(at(busy, 0.99) / at(idle, 0.99)).toFixed(2)}
`);
