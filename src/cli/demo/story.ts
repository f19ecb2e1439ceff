/**
 * Five weeks of five teams, played on the demo's clock by requests as users send them: dashboards, a nightly export, an
 * assistant, a script that loops, a rotation, an outage, restatements. The story ends now; light traffic may follow.
 */
import { purgeCache } from '../../api/operations/cache.js';
import { issueKey } from '../../api/operations/keys.js';
import { createTeam } from '../../api/operations/teams.js';
import { rotateToken } from '../../api/operations/token.js';
import { resumeWrites, stopWrites } from '../../api/operations/writes.js';
import { createClock, type MovableClock } from '../../lib/clock.js';
import { repeat } from '../../lib/repeat.js';
import { uptimeMs, wallMs } from '../../lib/time.js';
import type { Demo } from './start-demo.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DAYS = 35;

/** A clock at the start of the story. */
export function createStoryClock(): MovableClock {
  const clock = createClock();
  clock.moveTo(-DAYS * DAY_MS);
  return clock;
}

const CREATE = '/api/v1/campaign/create';
/** Besides the demo's own team. */
const TEAMS = [
  { id: 'finance', name: 'Finance', advertisers: [2, 5], scopes: ['report:read'] },
  { id: 'warehouse', name: 'Data warehouse', advertisers: [1, 2, 3, 4], scopes: ['report:read'] },
  { id: 'assistants', name: 'Assistants', advertisers: [1, 2], scopes: ['report:read', 'mcp'] },
  {
    id: 'bidding',
    name: 'Bidding scripts',
    advertisers: [1, 4],
    scopes: ['report:read', 'platform:write'],
    limits: { requestsPerMinute: 20 },
    writeGuard: {
      [`POST ${CREATE}`]: {
        budget: { field: 'body.budget.total', currency: 'USD', maxPerCall: 1000, maxPerDay: 5000 },
      },
    },
  },
] as const;

type TeamId = (typeof TEAMS)[number]['id'] | 'growth';
type Ask = (team: TeamId, path: string, body?: object) => Promise<void>;

const report = (advertiser: number, rest: string) =>
  `/api/v1/report/campaigns/get?advertiserId=${advertiser}&byDate=1&${rest}`;
const dashboard = (advertiser: number) => report(advertiser, '_period=last_7_days');

/**
 * Requests of one step of the story, or of the traffic after it.
 * @param crowd multiplies the requests of other people for the first page
 */
async function play(ask: Ask, step: number, crowd = 1): Promise<void> {
  const turn = (length: number) => step % length;
  const pages = [dashboard(1), dashboard(2 + turn(2))];
  await Promise.all(pages.map((page) => ask('growth', page)));
  // Other people who open the same pages, and scripts.
  await Promise.all([
    ...pages.map((page) => ask('growth', `${page}&_format=csv`)),
    ...Array.from({ length: crowd * turn(7) }, () => ask('growth', dashboard(1))),
    ask('finance', turn(4) === 0 ? report(5, '_period=last_30_days') : dashboard(turn(9) === 0 ? 1 : 2)),
    turn(3) === 0 ? askAssistant(ask, 1) : ask('bidding', dashboard(1)),
  ]);
}

const askAssistant = (ask: Ask, advertiserId: number) =>
  ask('assistants', '/mcp', {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'query_report',
      arguments: { advertiserId, period: { relative: 'last_7_days' }, split: ['date'] },
    },
  });

const exportNight = (ask: Ask, step: number) =>
  ask('warehouse', report(step % 2 === 0 ? 1 : 4, 'byCampaign=1&_period=yesterday&_format=ndjson'));

function writeCampaign(ask: Ask, today: string, total: number) {
  const campaign = { userId: 1, name: 'Autumn', adDomain: 'example.com', clickUrl: 'https://example.com' };
  const dates = { from: today, to: today };
  const rest = { dates, country: 'DE', bid: 1.5, budget: { daily: 50, total }, creativeSetIds: [1] };
  return ask('bidding', CREATE, { ...campaign, ...rest });
}

const PINNED = { endpoint: 'campaigns/get', query: 'advertiserId=2&byDate=1&_period=last_7_days' };

/** Single events, by days before now. */
function eventsOf({ admin, simulator }: Demo, ask: Ask): [daysAgo: number, happen: () => unknown][] {
  const day = (ago: number) =>
    new Date(Date.parse(simulator.today) - ago * DAY_MS).toISOString().slice(0, 10);
  const order = (reason: string) => ({ body: { team: 'bidding', reason } });
  const loop = async (times: number, once: () => Promise<void>) => {
    for (let time = 0; time < times; time++) await once();
  };
  const restate = (advertiserId: number) => simulator.restate({ advertiserId, from: day(6), to: day(2) });
  return [
    [28, () => restate(2)],
    [21, () => admin.ask(rotateToken, { body: { token: simulator.issueToken(), expiresAt: day(-360) } })],
    [12, () => loop(30, () => ask('bidding', dashboard(1)))],
    [9, () => loop(7, () => writeCampaign(ask, simulator.today, 900))],
    [8.9, () => admin.ask(stopWrites, order('campaigns are created in a loop'))],
    [8.9, () => writeCampaign(ask, simulator.today, 100)],
    [8, () => admin.ask(resumeWrites, order('the script is corrected'))],
    [6, () => ask('growth', '/gateway/v1/pins', { ...PINNED, note: 'As invoiced' })],
    [4, () => restate(1)],
    [3, () => admin.ask(purgeCache, { body: { advertiserId: 1 } })],
    // Too few to open the circuit, which would stay open for seconds of real time.
    [0.4, () => simulator.fault({ kind: 'status', status: 503, times: 9 })],
    [0, () => loop(3, () => writeCampaign(ask, simulator.today, 800))],
    [0, () => writeCampaign(ask, simulator.today, 1200)],
  ];
}

/** Times of the steps, before now: on five days of seven, every two hours of the last day, then every three minutes. */
const STEPS_MS = [
  ...Array.from({ length: DAYS - 1 }, (_, day) => (DAYS - day) * DAY_MS).filter((_, day) => day % 7 < 5),
  ...Array.from({ length: 12 }, (_, part) => DAY_MS - part * 2 * HOUR_MS),
  ...Array.from({ length: 21 }, (_, part) => HOUR_MS - part * 3 * MINUTE_MS),
];

async function createTeams({ admin, key }: Demo): Promise<Readonly<Record<string, string>>> {
  const keys: Record<string, string> = { growth: key };
  for (const team of TEAMS) {
    await admin.ask(createTeam, { body: team });
    const issued = await admin.ask(issueKey, { id: team.id, body: { label: 'production' } });
    keys[team.id] = issued.key;
  }
  // An unused key that expires soon.
  const expiresAt = new Date(wallMs() + 10 * DAY_MS).toISOString().slice(0, 10);
  await admin.ask(issueKey, { id: 'finance', body: { label: 'spreadsheet', expiresAt } });
  return keys;
}

/** Plays the story up to now. @returns starts light traffic like that of the story */
export async function playStory(demo: Demo, clock: MovableClock, print: (line: string) => void) {
  const startedMs = uptimeMs();
  const keys = await createTeams(demo);
  let requests = 0;
  const ask: Ask = async (team, path, body) => {
    requests += 1;
    const response = await fetch(demo.gatewayUrl + path, {
      signal: demo.ending,
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-api-key': keys[team] ?? '', ...HEADERS },
      body: body === undefined ? null : JSON.stringify(body),
    });
    await response.arrayBuffer();
  };
  const events = eventsOf(demo, ask);
  const { latencyMs } = demo.simulator.switches;
  demo.simulator.set({ latencyMs: 1 });
  let isSlow = false;
  for (const [step, agoMs] of STEPS_MS.entries()) {
    clock.moveTo(Math.max(clock.offsetMs, -agoMs));
    while ((events[0]?.[0] ?? -1) * DAY_MS >= agoMs) await events.shift()?.[1]();
    const isDaily = agoMs >= DAY_MS;
    if (isDaily || agoMs === 6 * HOUR_MS) await exportNight(ask, step);
    await play(ask, step, isDaily ? 4 : 1);
    // Nothing may be under way when the clock moves.
    await demo.settled();
    if (!isSlow && uptimeMs() - startedMs > 5000) {
      isSlow = true;
      print(`  day ${Math.round(DAYS - agoMs / DAY_MS)} of ${DAYS}: this machine is slow, please wait …`);
    }
  }
  clock.moveTo(0);
  demo.simulator.set({ latencyMs });
  const seconds = ((uptimeMs() - startedMs) / 1000).toFixed(1);
  print(`  ${requests} requests, ${demo.simulator.callCount} platform calls, in ${seconds} s`);
  let step = STEPS_MS.length;
  // The demo may be stopping.
  return () => repeat(LIVE_MS, () => play(ask, step++).catch(() => {}));
}

const LIVE_MS = 20_000;

/** Uncompressed: one process would compress and decompress. */
const HEADERS = {
  accept: 'application/json, text/event-stream;q=0.5, */*;q=0.1',
  'accept-encoding': 'identity',
  'content-type': 'application/json',
};
