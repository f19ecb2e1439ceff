/** Callers: each asks one thing after the other, and the oracle judges what comes of it. */
import inject from 'light-my-request';
import { GatewayError } from '../../src/errors.js';
import { toProblem } from '../../src/lib/http/problem.js';
import { Trace } from '../../src/telemetry/trace.js';
import { REPORT, type ReportBody } from '../support/start-gateway.js';
import type { Chance } from './chance-of-seed.js';
import type { Asked, Given } from './oracle.js';
import type { Replica } from './replicas.js';
import { Killed } from './scheduler.js';
import type { Night } from './shape.js';
import { ADVERTISERS, DAYS_BACK, dayAgo } from './sim-platform.js';
import { anyReplica, type KeyOfTeam, lapse, type WorldOfSeed } from './world.js';

export async function askAt(world: WorldOfSeed, asked: Asked, replica: Replica): Promise<void> {
  const { scheduler, oracle } = world;
  const given = await scheduler.begin(replica.owner, () => give(asked, replica)).catch(unlessKilled);
  if (given === null) return;
  scheduler.note(
    `given ${asked.replica} ${asked.advertiser} ${given.status} ${given.code} ${given.cacheStatus}`,
  );
  try {
    oracle.judge(asked, given);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`${message}\n${JSON.stringify(asked)}\n${JSON.stringify(given)} at ${scheduler.nowMs}`);
  }
}

/** @param more of the query */
export async function give(asked: Asked, { services, data }: Replica, more = ''): Promise<Given> {
  const { advertiser, from, to, byDate, days, directive } = asked;
  const query = `advertiserId=${advertiser}&dateFrom=${from}&dateTo=${to}${byDate ? '&byDate=1' : ''}${days ? '&_days=1' : ''}${more}`;
  const cacheControl = directive ?? undefined;
  if (data !== null) {
    const headers = { 'x-api-key': asked.key, ...(directive === null ? {} : { 'cache-control': directive }) };
    // By way of the server, as from a socket: the path gate stands in front of Fastify.
    const {
      statusCode,
      payload,
      headers: shown,
    } = await inject((request, response) => void data.server.emit('request', request, response), {
      method: 'GET',
      url: `${REPORT}?${query}`,
      headers,
    });
    const body: unknown = JSON.parse(payload);
    const problem = statusCode === 200 ? null : (body as { readonly code?: string });
    return {
      status: statusCode,
      code: problem?.code ?? null,
      body: problem === null ? (body as ReportBody) : null,
      cacheStatus: String(shown['cache-status'] ?? ''),
    };
  }
  try {
    const reply = await services.gateway.report({
      id: 'simulated',
      method: 'GET',
      target: `${REPORT}?${query}`,
      endpoint: 'campaigns/get',
      query,
      readBody: null,
      keys: { authorization: [], apiKey: [asked.key] },
      address: '127.0.0.1',
      accept: undefined,
      acceptEncoding: undefined,
      cacheControl,
      ifNoneMatch: undefined,
      trace: new Trace(),
      onResponseClosed: (leave) => leave(),
    });
    const body = JSON.parse(Buffer.concat([...(reply.body ?? [])]).toString()) as ReportBody;
    return { status: reply.status, code: null, cacheStatus: reply.headers['cache-status'] ?? '', body };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { status, code } = toProblem(error, 'simulated');
    return { status, code, cacheStatus: '', body: null };
  }
}

/** Whoever was asked may be gone: then there is no answer. */
function unlessKilled(error: unknown): null {
  if (error instanceof Killed) return null;
  throw error;
}

export type Question = Pick<Asked, 'team' | 'advertiser' | 'from' | 'to' | 'byDate' | 'days' | 'directive'>;

/** @returns a question at random, for one who asks now */
export function question({ chance, scheduler, keys, shape }: WorldOfSeed): Question {
  const [from, to] = period(chance, shape.night);
  return {
    team: chance.pick(keys).team,
    advertiser: chance.pick(ADVERTISERS),
    from: dayAgo(scheduler.trueMs(), from),
    to: dayAgo(scheduler.trueMs(), to),
    byDate: chance.is(0.8),
    days: chance.is(0.6),
    directive: chance.is(0.1) ? 'no-cache' : null,
  };
}

/** @returns its first and last day, in days ago */
function period(chance: Chance, night: Night | null): [from: number, to: number] {
  if (night !== null && chance.is(0.5)) {
    // Across both ends that the outage has.
    const [before, after] = night.outage;
    return [chance.between(after, DAYS_BACK), chance.between(1, before)];
  }
  const [from, length] = [chance.between(0, DAYS_BACK), chance.between(0, 4)];
  return [from, Math.max(0, from - length)];
}

/** @returns the question, asked now with this key */
export function asks({ scheduler }: WorldOfSeed, replica: Replica, what: Question, key: KeyOfTeam): Asked {
  const now = { atMs: scheduler.nowMs, wallMs: scheduler.trueMs() };
  return { ...what, ...now, replica: replica.name, team: key.team, key: key.text };
}

/** Asks for reports until then. */
export async function caller(world: WorldOfSeed, untilMs: number): Promise<void> {
  const { scheduler, chance, keys } = world;
  // A caller comes back with the same questions.
  const favourites: Question[] = [];
  while (scheduler.nowMs < untilMs) {
    await lapse(world, chance.is(0.3) ? chance.between(0, 5) : chance.between(20, 700));
    const replica = await anyReplica(world);
    if (keys.length === 0) continue;
    if (favourites.length < 3) favourites.push(question(world));
    const what = chance.is(0.4) ? question(world) : chance.pick(favourites);
    const own = keys.filter(({ team }) => team === what.team);
    await askAt(world, asks(world, replica, what, chance.pick(own.length > 0 ? own : keys)), replica);
  }
}
