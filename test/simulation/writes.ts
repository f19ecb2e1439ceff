/** Callers who put writes: each by a key of its own (Idempotency-Key) and repeated, those of one team charged to their day. */

import type { FastifyInstance } from 'fastify';
import inject from 'light-my-request';
import { Killed } from './scheduler.js';
import { mostSkewMs } from './shape.js';
import { dayAgo } from './sim-platform.js';
import { anyReplica, type KeyOfTeam, lapse, type WorldOfSeed } from './world.js';

const CREATE = '/api/v1/campaign/create';
/** What each write costs, and what the team `spends` may spend a day: fewer writes than it asks for. */
const [EACH, A_DAY] = [10, 40];
export const GUARD = { [`POST ${CREATE}`]: { budget: { field: 'body.total', maxPerDay: A_DAY } } };
/** What may be told while platform, store or credential are ill, or a replica has not heard of a new key yet. */
export const REFUSALS: ReadonlySet<string> = new Set([
  ...['upstream_error', 'upstream_timeout', 'upstream_circuit_open', 'upstream_rate_limited'],
  ...['upstream_invalid_response', 'credential_unavailable', 'not_ready', 'overloaded'],
  ...['idempotency_in_flight', 'write_guard_unavailable', 'invalid_api_key'],
]);
/** Where the store has lost what it was told: whose key is not known any more, and what was charged, is not either. */
export const FORGOTTEN: ReadonlySet<string> = new Set(['revoked_api_key', 'write_guard_refused']);
export const LONGEST_MS = 10_000;

interface Write {
  readonly name: string;
  readonly key: KeyOfTeam;
  /** By an idempotency key; the answer of others is streamed, and they are put once. */
  readonly isKeyed: boolean;
  /** What was answered when it was done; null: nobody was told yet. */
  answer: string | null;
}

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly code: string | null;
}

/** Puts writes until then, new ones and earlier ones again. @param of no other writer's are named so */
export async function writer(world: WorldOfSeed, untilMs: number, of: string): Promise<void> {
  const { scheduler, writeChance: chance, keys } = world;
  const made: Write[] = [];
  while (scheduler.nowMs < untilMs) {
    await lapse(world, chance.between(20, 500));
    const { data, owner, name } = await anyReplica(world, chance);
    const payer = chance.pick(['all', 'spends']);
    const key = keys.find(({ team }) => team === payer);
    if (key === undefined || data === null) continue;
    // Those of a registry that was lost have keys that nobody knows.
    const known = made.filter(({ key, isKeyed }) => isKeyed && keys.includes(key));
    const isNew = known.length === 0 || chance.is(0.5);
    const write: Write = isNew
      ? { name: `${of}${made.length}`, key, isKeyed: chance.is(0.8), answer: null }
      : chance.pick(known);
    if (isNew) made.push(write);
    const askedMs = scheduler.nowMs;
    const answered = await scheduler
      .begin(owner, () => put(data, write))
      .catch((error: unknown) => {
        // What is streamed may break off.
        if (error instanceof Killed || !write.isKeyed) return null;
        throw error;
      });
    if (answered === null) continue;
    scheduler.note(`write ${write.name} by ${name}: ${answered.status} ${answered.code}`);
    judge(world, write, answered, scheduler.nowMs - askedMs);
  }
}

async function put({ server }: FastifyInstance, write: Write, query = ''): Promise<Answered> {
  const { name, key, isKeyed } = write;
  const { statusCode, payload } = await inject(
    (request, response) => void server.emit('request', request, response),
    {
      method: 'POST',
      url: `${CREATE}${query}`,
      headers: {
        'x-api-key': key.text,
        'content-type': 'application/json',
        ...(isKeyed ? { 'idempotency-key': name } : {}),
      },
      payload: JSON.stringify({ userId: 1, name, of: key.team, total: EACH }),
    },
  );
  const { code = null } = JSON.parse(payload) as { readonly code?: string };
  return { status: statusCode, text: payload, code };
}

/** @throws what is wrong with the answer to a write */
function judge(world: WorldOfSeed, write: Write, { status, text, code }: Answered, tookMs: number): void {
  const { platform, oracle } = world;
  const outcome = `write ${code ?? status}`;
  oracle.counts.set(outcome, (oracle.counts.get(outcome) ?? 0) + 1);
  const wrong = (what: string) => {
    throw new Error(`${write.name} of ${write.key.team} ${what}: ${status} ${text}`);
  };
  if (tookMs > LONGEST_MS) wrong(`was answered after ${tookMs} ms`);
  const done = platform.writes.get(write.name) ?? [];
  if (status === 201 && !done.some(({ answer }) => answer === text))
    wrong('was answered what the platform never said');
  if (code === 'write_guard_refused' && write.key.team !== 'spends') wrong('has no guard');
  if (mayForget(world)) {
    if (status !== 201 && !REFUSALS.has(code ?? '') && !FORGOTTEN.has(code ?? '')) wrong('was answered');
    return;
  }
  if (done.length > 1) wrong(`was done ${done.length} times`);
  if (status === 201) {
    if (write.answer !== null && write.answer !== text)
      wrong(`was answered otherwise before: ${write.answer}`);
    write.answer = text;
  } else if (code === 'write_guard_refused') {
    if (write.answer !== null) wrong('was done, and its repeat refused');
  } else if (!REFUSALS.has(code ?? '')) wrong('was answered');
}

/** Whether the store may have lost what it was told of a write. */
export const mayForget = ({ isLossy, shape }: WorldOfSeed) => isLossy || shape.end === 'lost-registry';

/** To be called when nothing is under way: what was done is charged, and no more was done than the day allows. */
export async function judgeDay(world: WorldOfSeed): Promise<void> {
  const { platform, replicas, keys, scheduler, shape, faults } = world;
  const key = keys.find(({ team }) => team === 'spends');
  const spent = [...platform.writes.values()].flat().filter(({ of }) => of === 'spends');
  // A day that has begun meanwhile, by the clock of any replica, has a budget of its own.
  const skewMs = mostSkewMs(shape);
  const moments = [...spent.map(({ wallMs }) => wallMs), scheduler.trueMs()];
  const days = new Set(moments.flatMap((ms) => [dayAgo(ms - skewMs, 0), dayAgo(ms + skewMs, 0)]));
  if (key === undefined || mayForget(world)) return;
  if (spent.length * EACH > A_DAY * days.size)
    throw new Error(`${spent.length} writes of ${EACH} were done, of ${A_DAY} on each of ${days.size} days`);
  if (days.size > 1) return;
  const isCalm =
    faults.store.length === 0 && faults.platform.length === 0 && ['none', 'stop'].includes(shape.end);
  for (const { owner, data, name } of replicas.values()) {
    if (data === null) continue;
    const looked = await scheduler.begin(owner, () =>
      put(data, { name: 'look', key, isKeyed: true, answer: null }, '?_dryRun=1'),
    );
    const { left } = JSON.parse(looked.text) as { readonly left?: { readonly amount: number } };
    if (left === undefined) throw new Error(`${name} answered a dry run ${looked.status} ${looked.text}`);
    const charged = A_DAY - left.amount;
    if (charged < spent.length * EACH || (isCalm && charged > spent.length * EACH))
      throw new Error(`${name} has charged ${charged} for ${spent.length} writes of ${EACH}`);
  }
}
