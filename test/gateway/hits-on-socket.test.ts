/** Answers from the socket: the bytes of Node's HTTP, wherever the pieces of a request are cut, and nothing of it kept. */
import { once } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ANSWERED } from '../../src/http/socket-first.js';
import { createDrain } from '../../src/serve/drain.js';
import { listenGateway } from '../support/listen-gateway.js';
import { exchange, head, readAnswers } from '../support/raw-socket.js';
import { REPORT, withGateway } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const OTHER = `${QUERY}&_format=ndjson`;

/** A gateway with two reports at hand. @param limits of the team, and @param server settings beside the usual */
async function open(
  limits: Readonly<Record<string, unknown>> = {},
  server: Readonly<Record<string, unknown>> = {},
) {
  const gateway = await withGateway({
    logLevel: 'info',
    config: { server: { hitsOnSocket: true, ...server } },
  });
  const key = await gateway.addTeam({
    limits: { requestsPerMinute: 1_000_000, maxConcurrent: 1000, ...limits },
  });
  for (const query of [QUERY, QUERY, OTHER, OTHER]) await gateway.report(key, query);
  const url = await listenGateway(gateway);
  const counts = { onSocket: 0, byNode: 0 };
  gateway.data.server.on(ANSWERED, () => {
    counts.onSocket += 1;
  });
  gateway.data.server.on('request', () => {
    counts.byNode += 1;
  });
  const sockets: Socket[] = [];
  gateway.data.server.on('connection', (socket: Socket) => void sockets.push(socket));
  const ask = (query: string, ...headers: string[]) =>
    head(`GET ${REPORT}?${query} HTTP/1.1`, ['host: gateway.test', `x-api-key: ${key}`, ...headers]);
  const team = () => gateway.services.directory.team('team-1');
  const placesLeft = () => {
    const known = team();
    return known && gateway.services.limits.teams.concurrencyLeft(known);
  };
  const lines = () => gateway.log.filter(({ msg, path }) => msg === 'request' && path === REPORT);
  return { gateway, url, counts, sockets, ask, placesLeft, lines };
}

/** Without what differs between any two answers. */
const masked = (text: string) =>
  text
    .replace(/^x-request-id: .*$/gim, 'x-request-id: …')
    .replace(/^date: .*$/gim, (line) => `${line.slice(0, 6)}…`)
    .replace(/^ratelimit: .*$/gim, 'ratelimit: …')
    .replace(/"requestId":"[^"]*"/g, '"requestId":"…"');

/** Opens a connection, and collects what comes back. */
async function caller(url: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setNoDelay(true).setEncoding('latin1');
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  const at = { text: '', socket };
  socket.on('data', (chunk: string) => {
    at.text += chunk;
  });
  return at;
}

/** A body is made smaller behind one of its first answers: what is compared stands between two that are the same. */
async function betweenTwo(outer: () => Promise<string>, inner: () => Promise<string>) {
  return waitFor('two answers that are the same', async () => {
    const all = [await outer(), await inner(), await outer()] as const;
    return all[0] === all[2] && all;
  });
}

it.each([
  ['kept open', ''],
  ['closed', 'connection: close'],
  ['kept open by wish', 'connection: Keep-Alive'],
])('gives the very bytes that Node would, the connection being %s', async (_what, connection) => {
  const { gateway, url, ask, counts } = await open();
  const nodes = await gateway.buildData({
    config: {
      ...gateway.services.config,
      server: { ...gateway.services.config.server, hitsOnSocket: false },
    },
  });
  onTestFinished(() => nodes.close());
  const nodesUrl = await listenGateway({ data: nodes });
  const extra = connection === '' ? [] : [connection];
  for (const query of [QUERY, OTHER])
    for (const headers of [[], ['accept-encoding: gzip'], ['if-none-match: *'], ['accept: text/csv']]) {
      const sent = ask(query, ...headers, ...extra);
      for (let n = 0; n < 2; n++) await exchange(nodesUrl, ask(query, ...headers, 'connection: close'));
      // What closes the connection in the end is for Node both times.
      const last = connection.endsWith('close') ? '' : head('GET /healthz HTTP/1.0', ['host: a']);
      const before = counts.onSocket;
      const [node, ours, nodeAgain] = await betweenTwo(
        async () => masked(await exchange(nodesUrl, sent + last)),
        async () => masked(await exchange(url, sent + last)),
      );
      expect(ours).toBe(node);
      expect(ours).toBe(nodeAgain);
      expect(counts.onSocket).toBeGreaterThan(before);
    }
});

it('answers the same wherever a request is cut, and two of them', async () => {
  const { url, ask, sockets } = await open();
  for (const sent of [ask(QUERY, 'connection: close'), ask(QUERY) + ask(OTHER, 'connection: close')]) {
    const whole = masked(await exchange(url, sent));
    expect(readAnswers(whole).map(({ status }) => status)).toEqual(
      sent.includes('ndjson') ? [200, 200] : [200],
    );
    for (let cut = 1; cut < sent.length; cut++) {
      const at = await caller(url);
      const closed = once(at.socket, 'close');
      const arrived = sockets.length;
      at.socket.write(sent.slice(0, cut));
      await waitUntil(() => (sockets[arrived - 1]?.bytesRead ?? 0) >= cut);
      at.socket.write(sent.slice(cut));
      await closed;
      expect(masked(at.text), `cut at ${cut}`).toBe(whole);
    }
  }
});

/** The sockets are of this process: some turns of its loop. */
async function waitUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

describe('a caller who does not read', () => {
  /** Asks for hits on one connection until one of them has to wait, and reads nothing. */
  async function stuck(server: Readonly<Record<string, unknown>> = {}) {
    const at = await open({}, server);
    const before = at.lines().length;
    const { socket } = await caller(at.url);
    socket.removeAllListeners('data').pause();
    const ours = at.sockets.at(-1) as Socket;
    let asked = 0;
    while (ours.writableLength === 0) {
      socket.write(at.ask(QUERY));
      asked += 1;
      await waitUntil(() => at.counts.onSocket === asked);
    }
    expect(at.placesLeft()).toBe(999);
    expect(at.lines().length - before).toBe(asked - 1);
    return { ...at, before, asked, socket, ours };
  }

  it('keeps one place of its team, until it has read all or is gone', async () => {
    const { socket, placesLeft, lines, before, asked } = await stuck();
    socket.resume();
    await waitFor('the place', () => placesLeft() === 1000);
    expect(lines().length - before).toBe(asked);
    expect(lines().at(-1)).not.toHaveProperty('complete');

    const other = await stuck();
    other.socket.resetAndDestroy();
    await waitFor('the place of who is gone', () => other.placesLeft() === 1000);
    expect(other.lines().length - other.before).toBe(other.asked);
    expect(other.lines().at(-1)).toMatchObject({ complete: false });
  });

  it('is cut off in time', async () => {
    const { socket, placesLeft, lines } = await stuck({ minReadOverSeconds: 1 });
    const closed = once(socket.resume().pause(), 'close');
    await waitFor('the place', () => placesLeft() === 1000);
    expect(lines().at(-1)).toMatchObject({ complete: false });
    socket.resume();
    await closed;
  });

  it('has its next request read by Node, and answered behind what waits', async () => {
    const { socket, ask, counts, asked } = await stuck();
    socket.write(ask(OTHER, 'connection: close'));
    await waitUntil(() => counts.byNode === 1);
    let text = '';
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    await once(socket.resume(), 'close');
    const answers = readAnswers(text);
    expect(answers.map(({ status }) => status)).toEqual(Array(asked + 1).fill(200));
    expect(answers.at(-1)?.head).toContain('application/x-ndjson');
    expect(counts.onSocket).toBe(asked);
  });
});

const connectionsOf = (server: Server) => promisify(server.getConnections.bind(server))();

describe('a connection that has said nothing else', () => {
  it('is refused when it says nothing at all, in the time for a head', async () => {
    const { url, gateway } = await open({}, { requestTimeoutSeconds: 1 });
    expect(readAnswers(await exchange(url, '')).map(({ status }) => status)).toEqual([408]);
    expect(gateway.log.at(-1)).toMatchObject({ msg: 'request', status: 408 });
    // Whoever stopped in the middle of a head is Node's.
    expect(readAnswers(await exchange(url, 'GET /'))[0]?.status).toBe(408);
  });

  it('is closed when it is idle between two requests for as long as Node would wait', async () => {
    const { url, gateway, ask } = await open();
    gateway.data.server.keepAliveTimeout = 50;
    const answers = readAnswers(await exchange(url, ask(QUERY)));
    expect(answers[0]?.head).toContain('Keep-Alive: timeout=0');
  });

  it('is closed when its caller has ended his half, behind the answer', async () => {
    const { url, ask, counts } = await open();
    const at = await caller(url);
    at.socket.end(ask(QUERY));
    await once(at.socket, 'close');
    expect(readAnswers(at.text).map(({ status }) => status)).toEqual([200]);
    expect(counts).toEqual({ onSocket: 1, byNode: 0 });
  });

  it('is closed with the server', async () => {
    const { url, ask, gateway } = await open();
    for (const close of ['closeIdleConnections', 'closeAllConnections'] as const) {
      const [silent, idle] = [await caller(url), await caller(url)];
      idle.socket.write(ask(QUERY));
      await waitFor('the answer', () => idle.text !== '');
      const closed = Promise.all([once(silent.socket, 'close'), once(idle.socket, 'close')]);
      gateway.data.server[close]();
      await closed;
      expect(await connectionsOf(gateway.data.server)).toBe(0);
    }
  });
});

it('lets go of its connections when it drains, and loses no request that was on its way', async () => {
  const { url, ask, gateway, counts } = await open();
  let nowMs = 0;
  const drain = createDrain([gateway.data.server], () => nowMs);
  const [silent, used] = [await caller(url), await caller(url)];
  used.socket.write(ask(QUERY));
  await waitFor('an answer', () => counts.onSocket === 1);
  nowMs = 900;
  used.socket.write(ask(QUERY));
  await waitFor('another', () => counts.onSocket === 2);
  const over = drain.start(60_000);
  nowMs = 1500;
  await once(silent.socket, 'close');
  // Answered 600 ms ago: a next request may be on its way.
  expect(used.socket.readyState).toBe('open');
  nowMs = 2000;
  await once(used.socket, 'close');
  await over;
});
