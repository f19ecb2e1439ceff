/** What readers of the feed of changes cost a gateway on Redis: while nothing changes, and at 10,000 changes a minute. */

import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway } from './gateway.mjs';
import { cpuUs, end, privateBytes, temporaryFolder } from './processes.mjs';
import { startRedis } from './redis.mjs';
import { startRestatingPlatform } from './restating-platform.mjs';

/** One restated report of a month changes so many days. */
const DAYS = 31;
const CHANGES_A_MINUTE = 10_000;
const ADVERTISERS = 50;
/** Fewer than a team may have in a process. */
const READERS_A_TEAM = 50;
const [REST_S, WORK_S] = [20, 30];
const PERIOD = `_period=last_${DAYS}_days`;
/** No day is final or fresh, and nothing is compared: each request is a change. */
const RULES = {
  restatementDays: 45,
  freshness: { currentSeconds: 1, restatingSeconds: 1, staleWhileRevalidateSeconds: 0 },
  crossCheckEvery: 0,
  endpoints: { 'campaigns/get': { readByPost: true, divisible: 'always' } },
};

/** @param all numbers of readers, each measured in a gateway of its own */
export async function fanOut(all) {
  const lines = [];
  for (const readers of all) lines.push(await measure(readers));
  process.stdout.write(
    `${CHANGES_A_MINUTE.toLocaleString('en')} changes a minute of ${ADVERTISERS} advertisers; each reader follows one by server-sent events, a single reader all of them\n\n` +
      '| Readers | Memory of a waiting reader | CPU while nothing changes | CPU at work | Redis commands a second | Messages received | The slowest, after the change |\n' +
      `|--:|--:|--:|--:|--:|--:|--:|\n${lines.join('\n')}\n`,
  );
}

async function measure(readers) {
  const folder = temporaryFolder();
  const settings = join(folder, 'settings.yaml');
  writeFileSync(settings, JSON.stringify({ report: RULES }));
  const redis = await startRedis({ folder });
  const platform = await startRestatingPlatform({ campaigns: 3 });
  const gateway = await startGateway({
    folder,
    platform: platform.url,
    teams: Math.ceil(readers / READERS_A_TEAM),
    silent: true,
    env: { REDIS_URL: redis.url, GATEWAY_CONFIG: settings },
  });
  const write = writerOf(gateway, platform);
  for (let n = 0; n < ADVERTISERS; n++) await write();
  await sleep(3000);
  const idle = await over(gateway, redis, REST_S);
  const follow = followers(gateway, readers);
  await follow.connected();
  await sleep(3000);
  const waiting = await over(gateway, redis, REST_S);
  const working = over(gateway, redis, WORK_S);
  const received = follow.count();
  const everyMs = 60_000 / (CHANGES_A_MINUTE / DAYS);
  const began = performance.now();
  let made = 0;
  for (; performance.now() - began < WORK_S * 1000; made++) {
    await write();
    await sleep(Math.max(0, began + (made + 1) * everyMs - performance.now()));
  }
  const work = await working;
  await sleep(1500);
  const messages = follow.count() - received;
  follow.end();
  await Promise.all([end(gateway), end(redis)]);
  platform.close();
  const cells = [
    readers.toLocaleString('en'),
    `${((waiting.bytes - idle.bytes) / readers / 1024).toFixed(0)} KiB`,
    `${(waiting.cpu - idle.cpu).toFixed(2)} %`,
    `${work.cpu.toFixed(0)} %`,
    work.commands.toFixed(0),
    `${messages.toLocaleString('en')} of ${Math.round(made * DAYS * (readers === 1 ? 1 : readers / ADVERTISERS)).toLocaleString('en')}`,
    `${follow.slowestMs().toFixed(0)} ms`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** CPU in percent of a core, Redis commands a second, those of scripts among them, memory at the end. */
async function over({ pid }, redis, seconds) {
  const [cpu, counts] = [cpuUs(pid), await redis.counts()];
  await sleep(seconds * 1000);
  const after = await redis.counts();
  const sum = ({ commands }) => [...commands.values()].reduce((all, one) => all + one, 0);
  return {
    bytes: privateBytes(pid),
    cpu: (cpuUs(pid) - cpu) / seconds / 10_000,
    commands: (sum(after) - sum(counts)) / seconds,
  };
}

/** @returns restates and reads the report of the next advertiser: a change of each of its days */
function writerOf({ url, keys }, platform) {
  let next = 0;
  return async () => {
    platform.restate();
    const advertiser = 1 + (next++ % ADVERTISERS);
    const response = await fetch(
      `${url}/api/v1/report/campaigns/get?advertiserId=${advertiser}&byDate=1&${PERIOD}`,
      {
        headers: { 'x-api-key': keys[0] },
      },
    );
    if (!response.ok) throw new Error(`the report answered ${response.status}: ${await response.text()}`);
    await response.arrayBuffer();
  };
}

/** Readers that begin anew where they were when the gateway ends their connection. */
function followers({ url, keys }, readers) {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const open = new Set();
  let [messages, isOver, slowest, arrived] = [0, false, 0, 0];
  function follow(n, offset) {
    // A single one follows all.
    const filter = readers === 1 ? '' : `&advertiserId=${1 + (n % ADVERTISERS)}`;
    const target = `${url}/gateway/v1/changes?offset=${offset}&live=sse${filter}`;
    const asked = request(target, { agent, headers: { 'x-api-key': keys[Math.floor(n / READERS_A_TEAM)] } });
    let at = offset;
    asked.once('error', () => isOver || process.exit(1));
    asked.once('response', (response) => {
      if (response.statusCode !== 200) throw new Error(`the feed answered ${response.statusCode}`);
      arrived += 1;
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
        for (let cut = text.indexOf('\n\n'); cut >= 0; cut = text.indexOf('\n\n')) {
          const event = text.slice(0, cut);
          text = text.slice(cut + 2);
          const data = event.slice(event.indexOf('\ndata:') + 6);
          if (event.startsWith('event: control')) at = JSON.parse(data).streamNextOffset;
          else if (event.startsWith('event: data')) note(JSON.parse(data));
        }
      });
      response.once('end', () => isOver || follow(n, at));
    });
    asked.end();
    open.add(asked);
  }
  function note(batch) {
    messages += batch.length;
    for (const { headers } of batch) slowest = Math.max(slowest, Date.now() - Date.parse(headers.timestamp));
  }
  for (let n = 0; n < readers; n++) follow(n, 'now');
  return {
    async connected() {
      while (arrived < readers) await sleep(50);
    },
    count: () => messages,
    slowestMs: () => slowest,
    end() {
      isOver = true;
      for (const one of open) one.destroy();
    },
  };
}
