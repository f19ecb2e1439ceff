/** Callers who do not read what they asked for, or leave: what is held for them, and for how long. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FINAL, RESTATING } from '../../gateway/reports.js';
import { listenGateway } from '../../support/listen-gateway.js';
import { sends, startHeldPlatform } from '../../support/raw-platform.js';
import { openScene } from '../../support/scene.js';
import { type GatewayOptions, outcomeOf, REPORT, type TestGateway } from '../../support/start-gateway.js';
import { waitFor } from '../../support/wait-for.js';

const IMPATIENT = { server: { minReadOverSeconds: 1 } };
const MIB = 1_048_576;

/** Rows of a kilobyte. */
const rowsOf = (count: number) =>
  `{"data":[${Array.from({ length: count }, (_, id) => `{"campaign_id":${id},"clicks":2,"note":"${'x'.repeat(980)}"}`).join(',')}]}`;

/** A connection that reads nothing until it is told to. */
async function connectTo(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).pause();
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

const lineOf = (path: string, key: string, header = '') =>
  `GET ${path} HTTP/1.1\r\nhost: a\r\nx-api-key: ${key}\r\n${header}\r\n`;

function placesLeft({ services }: TestGateway): number | undefined {
  const team = services.directory.team('few');
  return team && services.limits.teams.concurrencyLeft(team);
}

describe('a caller of a large report', () => {
  /** More than a system takes into the buffers of a connection. */
  const LARGE = rowsOf(8_000);

  it('is cut off when it does not read, and its team may ask again', async () => {
    const { gateway } = await openScene(sends(LARGE), { config: IMPATIENT });
    const key = await gateway.addTeam({ limits: { maxConcurrent: 1, requestsPerMinute: 1_000_000 } });
    const socket = await connectTo(await listenGateway(gateway));
    socket.write(lineOf(`${REPORT}?${FINAL}`, key));
    const small = async () => outcomeOf(await gateway.report(key, 'advertiserId=1&_format=nonsense'));
    await waitFor('the first call to be inside', async () => (await small()) === '429 rate_limited');
    await waitFor('its end', async () => (await small()) === '400 invalid_query');
    expect(gateway.log.filter(({ complete }) => complete === false)).toHaveLength(1);
  });

  it('gets the whole of it when it reads, from memory too', async () => {
    const whole = rowsOf(3_000);
    const { gateway, key } = await openScene(sends(whole));
    const url = await listenGateway(gateway);
    for (const format of ['raw', 'raw', 'json', 'csv']) {
      const headers = { 'x-api-key': key, 'accept-encoding': 'identity' };
      const answer = await fetch(`${url}${REPORT}?${FINAL}&_format=${format}`, { headers });
      const text = await answer.text();
      expect(text.length).toBe(Number(answer.headers.get('content-length')));
      if (format === 'raw') expect(text === whole).toBe(true);
      if (format === 'json') expect(JSON.parse(text).data).toHaveLength(3_000);
    }
  });
});

describe('requests that are sent ahead', () => {
  async function openAhead(answer: string, queries: readonly string[], options: GatewayOptions) {
    const held = await startHeldPlatform(sends(answer));
    const scene = await openScene(held, { logLevel: 'info', ...options });
    const { gateway, platform } = scene;
    const limits = { maxConcurrent: 100, requestsPerMinute: 1_000_000 };
    const key = await gateway.addTeam({ id: 'few', limits });
    platform.release();
    for (const query of queries) expect((await gateway.report(key, query)).status).toBe(200);
    const socket = await connectTo(await listenGateway(gateway));
    return { ...scene, socket, askFor: (query: string) => lineOf(`${REPORT}?${query}`, key) };
  }

  /** Some of them are more than a system takes into the buffers of a connection. */
  const ROWS = rowsOf(200);
  const LONG = 'advertiserId=7&byCampaign=1&dateFrom=2026-10-01&dateTo=2026-10-31';

  it('a caller who does not read what it sent for ahead is cut off, and its places are free again', async () => {
    const { gateway, socket, askFor } = await openAhead(ROWS, [LONG, LONG], { config: IMPATIENT });
    socket.write(askFor(LONG).repeat(60));
    await waitFor('some to be held', () => (placesLeft(gateway) ?? 100) < 100);
    await waitFor('all to be over', () => placesLeft(gateway) === 100);
  });

  it('a caller who reads gets all of them, though they wait for a platform that takes its time', async () => {
    const { platform, gateway, socket, askFor } = await openAhead(ROWS, [LONG, LONG], { config: IMPATIENT });
    platform.hold();
    const before = platform.requests.length;
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    socket.resume().write(askFor(RESTATING) + askFor(LONG).repeat(2));
    await platform.arrived(before + 1);
    // The others wait for its answer.
    await waitFor('the first to be inside', () => placesLeft(gateway) === 99);
    // Longer than a caller who does not read is waited for.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect([placesLeft(gateway), socket.destroyed]).toEqual([99, false]);
    platform.release();
    await waitFor('all to be over', () => placesLeft(gateway) === 100);
    await waitFor('what was sent', () => received > 2 * ROWS.length);
  });

  it.each([
    ['at once', { fastPath: true }],
    ['by the router', { fastPath: false }],
  ])(
    'lets go of the place of a caller who leaves before its first answer, given %s, and begins none of the others',
    async (_way, server) => {
      const answer = '{"data":[{"campaign_id":1,"clicks":2}]}';
      const scene = await openAhead(answer, [FINAL, FINAL], { config: { server } });
      const { platform, gateway, socket, askFor } = scene;
      platform.hold();
      const before = platform.requests.length;
      const lines = () => gateway.log.filter(({ msg, plane }) => msg === 'request' && plane === 'data');
      const linesBefore = lines().length;
      socket.write(askFor(RESTATING) + askFor(FINAL) + askFor(FINAL));
      await platform.arrived(before + 1);
      await waitFor('the first to be inside', () => placesLeft(gateway) === 99);
      socket.resetAndDestroy();
      await waitFor('it to be over', () => placesLeft(gateway) === 100);
      await waitFor('its line', () => lines().length > linesBefore);
      platform.release();
      await gateway.services.settled();
      const own = lines().slice(linesBefore);
      expect(own.map(({ complete }) => complete)).toEqual([false]);
      expect(placesLeft(gateway)).toBe(100);
    },
  );
});

describe('answers that are streamed', () => {
  const QUERY = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-01&byDate=1';

  function stream(response: ServerResponse, bytes: number): void {
    const piece = Buffer.alloc(Math.min(bytes, 65_536), 'x');
    if (bytes <= piece.length) response.end(piece);
    else if (response.write(piece)) setImmediate(() => stream(response, bytes - piece.length));
    else response.once('drain', () => stream(response, bytes - piece.length));
  }

  /** A platform with reports, and bodies of as many MiB as the path says, of known length or not. */
  async function open(config: object = {}) {
    const scene = await openScene(
      (asked, response) => {
        const [, size, chunked] = /\/(\d+)-mib(-chunked)?$/.exec(asked.url ?? '') ?? [];
        if (size === undefined) return sends('{"data":[{"date":"2026-11-01","spent":1}]}')(asked, response);
        if (chunked === undefined) response.setHeader('content-length', Number(size) * MIB);
        stream(response, Number(size) * MIB);
      },
      { config: { ...config } },
    );
    const url = await listenGateway(scene.gateway);
    async function askOnly(path: string, header = '') {
      const socket = await connectTo(url);
      socket.write(lineOf(path, scene.key, header));
      return socket;
    }
    return { ...scene, askOnly };
  }

  async function readAll(socket: Socket): Promise<number> {
    let size = 0;
    for await (const piece of socket.resume() as AsyncIterable<Buffer>) size += piece.length;
    return size;
  }

  it('leaves reports their calls, and other teams a place, however many read slowly', async () => {
    const { platform, gateway, key, ask, askOnly } = await open({ platform: { timeoutMs: 3000 } });
    const other = await gateway.addTeam();
    for (let n = 0; n < 12; n++) await askOnly('/api/v1/export/64-mib');
    // Of eight calls six are for streams, and one team does not get the last of them.
    await expect.poll(() => platform.requests.length).toBe(5);
    const report = await ask(QUERY);
    expect(report.status).toBe(200);
    expect(report.headers['cache-status']).toContain('dsp-gateway; fwd=miss');
    expect((await gateway.call('/api/v1/campaign/1', { key: other })).status).toBe(200);
    const refused = await gateway.call('/api/v1/campaign/1', { key });
    expect([outcomeOf(refused), refused.headers['retry-after']]).toEqual(['503 overloaded', '1']);
    expect(gateway.services.streamPlaces.running).toBe(5);
  });

  it.each(['/api/v1/file/1-mib', '/api/v1/file/1-mib-chunked'])(
    'gives the call back when a small body waits for its caller: %s',
    async (path) => {
      const { platform, gateway, askOnly } = await open();
      const sockets: Socket[] = [];
      for (let n = 0; n < 8; n++) sockets.push(await askOnly(path, 'connection: close\r\n'));
      await expect.poll(() => platform.requests.length).toBe(8);
      const { budget, streamPlaces } = gateway.services;
      await expect.poll(() => [budget.running, streamPlaces.running]).toEqual([0, 0]);
      for (const size of await Promise.all(sockets.map(readAll))) expect(size).toBeGreaterThan(MIB);
    },
  );

  it('cuts off a caller who reads nothing, and frees its call', async () => {
    const { gateway, askOnly } = await open(IMPATIENT);
    const socket = await askOnly('/api/v1/export/64-mib');
    await expect.poll(() => gateway.services.budget.running).toBe(1);
    await expect.poll(() => gateway.services.budget.running).toBe(0);
    expect(await readAll(socket).catch(() => 0)).toBeLessThan(64 * MIB);
  });

  it('does not take a caller who pauses for a platform that is silent', async () => {
    const { askOnly } = await open({ platform: { timeoutMs: 250 } });
    const socket = await askOnly('/api/v1/export/24-mib', 'connection: close\r\n');
    // Several times the longest silence.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(await readAll(socket)).toBeGreaterThan(24 * MIB);
  });

  it('a streamed answer is broken off when its key is revoked, and no other', async () => {
    const answers: ServerResponse[] = [];
    const { gateway } = await openScene(
      (_request, response) => {
        answers.push(response);
        response.writeHead(200, { 'content-type': 'text/plain' });
        response.write('begun');
      },
      { logLevel: 'info' },
    );
    const keys = [await gateway.addTeam({ id: 'one' }), await gateway.addTeam({ id: 'other' })];
    const url = `${await listenGateway(gateway)}/api/v1/thing`;
    const open = async (at: number): Promise<Readable> =>
      (await request(url, { headers: { 'x-api-key': keys[at] as string } })).body;
    const [revoked, kept] = await Promise.all([open(0), open(1)]);
    const failed = once(revoked.resume(), 'error');
    let text = '';
    kept.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const { keys: listed } = (await gateway.manage('GET', '/teams/one/keys')) as { keys: { id: string }[] };
    await gateway.manage('DELETE', `/keys/${listed[0]?.id}`);
    await failed;
    await waitFor('the log line', () =>
      gateway.log.find(
        ({ msg, team, complete }) => msg === 'request' && team === 'one' && complete === false,
      ),
    );
    for (const answer of answers) if (!answer.destroyed) answer.end(' and over');
    await once(kept, 'end');
    expect(text).toBe('begun and over');
  });
});
