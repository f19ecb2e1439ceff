/** Answers of the platform: nearly a report, or long. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Chance } from '../../../simulation/chance-of-seed.js';
import { type Reply, startGatewayAt } from '../../../support/start-gateway.js';
import { wrongGrowth, wrongReport } from './answers.js';
import { SHAPES } from './long-shapes.js';
import { mutated } from './mutate.js';
import { said, type Target } from './target.js';

const ROWS = [
  '{"data":[{"date":"2026-11-20","advertiserId":1,"impressions":10,"clicks":1,"spent":1.5}]}',
  '[{"date":"2026-11-20","advertiserId":1,"impressions":10,"spent":"1.50"},{"date":"2026-11-20","advertiserId":1}]',
  '{"columns":["date","clicks"],"rows":[["2026-11-20",1]]}',
  '{"success":true,"data":{"items":[{"date":"2026-11-20","advertiserId":1}],"total":1}}',
];
/** How often a question is asked: what comes between, as a collection of garbage, is not in the quickest. */
const ASKED = 3;
const TIMES_AS_LONG = 4;
/** The shorter text, bytes: long enough that what every request takes is little beside it. */
const SHORTEST = 400_000;
const LONGEST = 800_000;

export async function platformAnswers(): Promise<Target> {
  const platform = await openPlatform();
  return {
    name: 'Answers of the platform',
    what: 'JSON that is nearly a report, now and then of another length than it says; each is a report or a foreseen error.',
    async tryOne(chance) {
      const body = mutated(chance.pick(ROWS), chance);
      const length = Buffer.byteLength(body) + (chance.is(0.1) ? chance.between(-3, 3) : 0);
      return said(body, wrongReport(await platform.askWhenItSays(body, Math.max(0, length))));
    },
    close: platform.close,
  };
}

export async function longAnswers(): Promise<Target> {
  const platform = await openPlatform();

  /** @returns what it was answered, and the CPU time of the quickest, milliseconds */
  async function ask(body: string): Promise<{ reply: Reply; cpuMs: number }> {
    let cpuMs = Number.POSITIVE_INFINITY;
    let reply: Reply | undefined;
    for (let asked = 0; asked < ASKED; asked += 1) {
      const before = process.cpuUsage();
      reply = await platform.askWhenItSays(body, Buffer.byteLength(body));
      const { user, system } = process.cpuUsage(before);
      cpuMs = Math.min(cpuMs, (user + system) / 1000);
    }
    return { reply: reply as Reply, cpuMs };
  }

  return {
    name: 'Long answers of the platform',
    what: 'Reports and what looks like them, long in one way, and four times as long: CPU time grows with the length, and not with its square.',
    async tryOne(chance: Chance) {
      const { name, make } = chance.pick(SHAPES);
      const bytes = chance.between(SHORTEST, LONGEST);
      const short = await ask(make(bytes));
      const long = await ask(make(bytes * TIMES_AS_LONG));
      const wrong = wrongReport(short.reply) ?? wrongReport(long.reply);
      if (wrong !== null) return said(`${name}, ${bytes} bytes`, wrong);
      const grown = wrongGrowth(short.cpuMs, long.cpuMs, TIMES_AS_LONG);
      return grown === null ? null : `${name}, ${bytes} bytes: ${grown}`;
    },
    close: platform.close,
  };
}

/** A gateway before a platform that says what it is told to. */
async function openPlatform() {
  let [body, length] = ['', 0];
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
    const isWhole = length <= Buffer.byteLength(body);
    if (isWhole) response.end(body);
    // What is missing never comes, and a connection that stays open would be waited for.
    else response.write(body, () => response.socket?.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const config = { platform: { retry: { attempts: 0 }, circuit: { failures: 1000, openSeconds: 1 } } };
  const gateway = await startGatewayAt(
    { url: `http://127.0.0.1:${port}`, token: '42|a-platform-token' },
    { logLevel: 'error', config },
  );
  const key = await gateway.addTeam();
  return {
    /** @param says its text @param saysLength what it tells of the length, bytes */
    async askWhenItSays(says: string, saysLength: number): Promise<Reply> {
      [body, length] = [says, saysLength];
      // Each is judged by itself: none is answered from what came before.
      await gateway.manage('POST', '/cache/purge', { all: true });
      const query = 'advertiserId=1&byDate=1&dateFrom=2026-11-20&dateTo=2026-11-20';
      return gateway.report(key, query, { headers: { 'cache-control': 'no-cache' } });
    },
    async close() {
      await gateway.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
