/**
 * Stores as earlier programs wrote them, and the questions whose answers must stay the same. `RECORD_STORES=3 npx vitest
 * run test/store/recorded` writes the third recording: with a program whose stores the next ones have to read.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { Agent, buildConnector } from 'undici';
import { onTestFinished } from 'vitest';
import { startSimulator } from '../../../src/simulator/simulator.js';
import type { Simulator } from '../../../src/simulator/simulator-api.js';
import type { Store } from '../../../src/store/port.js';
import { CAMPAIGN } from '../../support/campaign.js';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider.js';
import { prove } from '../../support/prove.js';
import { Browser, PUBLIC } from '../../support/signed-in.js';
import { startGatewayAt, type TestGateway } from '../../support/start-gateway.js';
import { createTestClock, HOUR, MINUTE, type TestClock } from '../../support/test-clock.js';

const CREATE = 'POST /api/v1/campaign/create';
/** Part of the names of all series: the same in each run, wherever the simulator listens. */
const PLATFORM = 'http://platform.test';
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-17&dateTo=2026-11-19';
/** After everything that was recorded. */
const LATER = '2026-11-21T17:00:00Z';

/** What the recording program answered, and what asks for it again. */
export interface Recorded {
  readonly keys: Readonly<Record<'reader' | 'writer' | 'revoked', string>> & {
    /** Made by a person who had signed in; from the second recording on. */
    readonly person?: string;
  };
  /** Of the provider at which the person signed in. */
  readonly issuer?: string;
  readonly pinId: string;
  readonly answers: Readonly<Record<string, unknown>>;
  /** From the second recording on also of Redis. */
  readonly spent?: unknown;
}

export interface Opened {
  readonly gateway: TestGateway;
  readonly simulator: Simulator;
}

/** @param clock of the gateway, which the provider goes by */
export const startProvider = (clock: TestClock): Promise<IdentityProvider> =>
  startIdentityProvider(clock.now);

/**
 * A gateway on a store, whose platform is a simulator of its own under a name that stays.
 *
 * @param issuer of the provider at which people sign in; it need not be there any more
 */
export async function openOn(store: Store, clock: TestClock, issuer?: string): Promise<Opened> {
  const simulator = await startSimulator({ clock, switches: { rateLimitPerMinute: 0 } });
  onTestFinished(() => simulator.close());
  const { hostname, port } = new URL(simulator.url);
  const connect = buildConnector({});
  const agent = new Agent({
    connect: (options, done) => connect({ ...options, hostname, host: hostname, port }, done),
  });
  const platform = { url: PLATFORM, token: simulator.token };
  const people = [{ when: { groups: 'data' }, teams: ['reader'], keys: true }];
  const oidc = { issuer, clientId: 'dsp-gateway', people, publicUrl: PUBLIC.data };
  const gateway = await startGatewayAt(platform, {
    ...{ clock, sharedStore: store, masterKey: MASTER_KEY, agent },
    ...(issuer !== undefined && { config: { auth: { oidc } } }),
  });
  onTestFinished(() => gateway.close());
  return { gateway, simulator };
}

/** The clock of a program that opens what was recorded. */
export const laterClock = (): TestClock => createTestClock(LATER);

/** Everything that a store keeps for long. */
export async function fill(
  { gateway, simulator }: Opened,
  provider: IdentityProvider,
): Promise<Omit<Recorded, 'answers'>> {
  const reader = await gateway.addTeam({
    id: 'reader',
    scopes: ['report:read', 'report:pin', 'cache:refresh'],
    advertisers: [1, 2],
  });
  const writer = await gateway.addTeam({
    id: 'writer',
    writeGuard: { [CREATE]: { budget: { field: 'body.budget.total', currency: 'EUR', maxPerDay: 2500 } } },
  });
  const revoked = String((await gateway.manage('POST', '/teams/reader/keys', { label: 'lost' })).key);
  const { keys } = (await gateway.manage('GET', '/teams/reader/keys')) as {
    keys: { id: string; label?: string }[];
  };
  await gateway.manage('DELETE', `/keys/${keys.find(({ label }) => label === 'lost')?.id}`);

  await gateway.manage('POST', '/writes/stop', { team: 'reader', reason: 'recorded' });
  const person = await keyOfPerson(gateway, provider);
  await prove(gateway, reader);
  await askReport(gateway, reader);
  const pin = await gateway.call('/gateway/v1/pins', {
    method: 'POST',
    key: reader,
    json: { endpoint: 'campaigns/get', query: QUERY, note: 'recorded' },
  });
  for (let times = 0; times < 2; times += 1) {
    gateway.clock.advance(HOUR + 5 * MINUTE);
    simulator.restate({ advertiserId: 1, from: '2026-11-18', to: '2026-11-18' });
    await askReport(gateway, reader, { 'cache-control': 'no-cache' });
  }
  await spend(gateway, writer);
  await gateway.services.settled();
  return {
    keys: { reader, writer, revoked, person },
    issuer: provider.issuer,
    pinId: pin.json<{ id: string }>().id,
  };
}

async function keyOfPerson({ data }: TestGateway, provider: IdentityProvider): Promise<string> {
  provider.claims = { sub: 'ada', name: 'Ada Lovelace', groups: ['data'] };
  const browser = new Browser(data, 'data');
  await browser.signIn(provider);
  await browser.session();
  const answer = await browser.write('POST', '/gateway/v1/keys', { label: 'notebook' });
  return answer.json<{ key: string }>().key;
}

/** A write that costs 900 of the day's 2500. */
export const spend = (gateway: TestGateway, key: string) =>
  gateway.call('/api/v1/campaign/create', {
    method: 'POST',
    key,
    headers: { 'idempotency-key': 'recorded-write-1' },
    json: CAMPAIGN,
  });

async function askReport(gateway: TestGateway, key: string, headers: Record<string, string> = {}) {
  const reply = await gateway.report(key, QUERY, { headers });
  await gateway.services.settled();
  return reply;
}

/** Answers that need what was written, without history, which begins anew. None of them asks the platform. */
export async function answersOf(
  { gateway }: Opened,
  { keys, pinId }: Omit<Recorded, 'answers'>,
): Promise<Record<string, unknown>> {
  const get = async (target: string, key = keys.reader) => {
    const reply = await gateway.call(target, { key });
    if (reply.status !== 200) throw new Error(`${target} answered ${reply.status}: ${reply.text}`);
    return reply.json();
  };
  const { data } = await get(`/gateway/v1/pins/${pinId}`);
  const { entries } = (await gateway.manage('GET', '/audit')) as { entries: readonly unknown[] };
  const { fingerprint } = ((await gateway.manage('GET', '/token')) as { active: { fingerprint: string } })
    .active;
  return {
    pin: data,
    pins: await get('/gateway/v1/pins'),
    teams: (await gateway.manage('GET', '/teams')).teams,
    stops: (await gateway.manage('GET', '/writes')).teams,
    audit: entries,
    token: fingerprint,
  };
}

/** What was charged to the writer's budget of the day. */
export async function spentOf({ gateway }: Opened): Promise<unknown> {
  return gateway.manage('GET', '/teams/writer/write-budgets');
}

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** Number of the recording that is to be made. */
export const recording = process.env.RECORD_STORES;

export function writeRecorded(name: string, value: unknown): void {
  writeFileSync(here(`${name}.json.gz`), gzipSync(JSON.stringify(value), { level: 9 }));
}

export function readRecorded<T>(name: string): T {
  return JSON.parse(gunzipSync(readFileSync(here(`${name}.json.gz`))).toString()) as T;
}

/** An empty folder, gone with the test. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dgw-recorded-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Files of the durable folders, by their path. */
export function readFolder(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /^(state|history)\/data\.mdb$/.test(name),
  );
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name)).toString('base64')]));
}

export async function writeFolder(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), Buffer.from(content, 'base64'));
  }
}

/** Keys that do not end, and charges, which end by the clock of Redis; none of the cache. */
export async function dumpRedis(url: string): Promise<Record<string, string>> {
  const redis = new Redis(url);
  const all: Record<string, string> = {};
  for (const key of (await redis.keys('*')).sort()) {
    if (/:cache/.test(key) || ((await redis.pttl(key)) !== -1 && !key.includes('{charges}'))) continue;
    all[key] = (await redis.dumpBuffer(key))?.toString('base64') ?? '';
  }
  redis.disconnect();
  return all;
}

export async function restoreRedis(url: string, all: Readonly<Record<string, string>>): Promise<void> {
  const redis = new Redis(url);
  for (const [key, value] of Object.entries(all)) await redis.restore(key, 0, Buffer.from(value, 'base64'));
  redis.disconnect();
}
