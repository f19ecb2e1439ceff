/** A restart of one replica after the other under load on connections that are kept: no request may be lost. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import { dataPidsOf, openRedisScene } from '../support/on-redis.js';
import { startGateway } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = `${REPORT}?advertiserId=1&byDate=1&_period=last_7_days`;

interface Lost {
  readonly url: string;
  readonly code: string;
}

/** Asks one replica after the other, over and over, in each loop on connections of its own. */
function keepAsking(urls: () => readonly string[], key: string) {
  const lost: Lost[] = [];
  const closes = new Set<string>();
  let [answered, going] = [0, true];
  async function loop(index: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let at = index; going; at++) {
      // As a load balancer does that sees a replica leave.
      const left = urls().filter((one) => !closes.has(one));
      const url = left[at % left.length] as string;
      try {
        const { statusCode, headers } = await get(url + QUERY, key, agent);
        if (statusCode !== 200) lost.push({ url, code: String(statusCode) });
        if (headers.connection === 'close') closes.add(url);
        answered += 1;
        // As an application does, and so that the replicas have some of the machine, too.
        await pause(Math.random() * 20);
      } catch (error) {
        const code = String((error as NodeJS.ErrnoException).code);
        // Nobody listens: nothing was sent.
        if (code !== 'ECONNREFUSED') lost.push({ url, code });
      }
    }
    agent.destroy();
  }
  const loops = Promise.all([0, 1, 2, 3, 4, 5].map(loop));
  return {
    lost,
    closes,
    answered: () => answered,
    async stop() {
      going = false;
      await loops;
    },
  };
}

function get(url: string, key: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { agent, headers: { 'x-api-key': key } }, (incoming) => {
      incoming.on('error', reject).on('end', () => resolve(incoming));
      incoming.resume();
    })
      .on('error', reject)
      .end();
  });
}

it('loses no request, whether a replica is a process or a supervisor with two workers', async () => {
  const { env } = await openRedisScene();
  const start = async (workers: number) => {
    const gateway = await startGateway({ ...env, WORKERS: String(workers) });
    await waitFor('all that listen', () => dataPidsOf(gateway).length >= workers, gateway);
    return gateway;
  };
  // What comes in their place is there before they go.
  const [one, two, next] = await Promise.all([start(1), start(2), start(1)]);
  let replicas = [one, two, next];
  const { key } = await newTeam(one, { id: 'busy' });
  for (const { data } of replicas)
    await waitFor('the key', async () => (await ask(data + QUERY, { key })).status === 200);
  const load = keepAsking(() => replicas.map(({ data }) => data), key);
  await waitFor('answers', () => load.answered() > 100);
  for (const old of [one, two]) {
    expect(await old.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(load.closes).toContain(old.data);
    replicas = replicas.filter((other) => other !== old);
    const before = load.answered();
    await waitFor('more answers', () => load.answered() > before + 50);
  }
  await load.stop();
  expect(load.lost).toEqual([]);
});
