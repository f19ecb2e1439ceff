/** After each kill: what was acknowledged is there, nothing happened twice, and nothing was sent without its charge. */
import { type Answer, admin } from '../../../support/ask.js';
import type { Gateway } from '../../../support/processes.js';
import { waitFor } from '../../../support/wait-for.js';
import type { Diary } from './works.js';
import { activeToken, askMe, CREATE, create, EACH, leftOfDay, MAX_A_DAY, type World } from './world.js';

/** @returns what does not hold, a line each. Forgets of the diary what is settled */
export async function faultsAfter(world: World, diary: Diary): Promise<string[]> {
  const faults: string[] = [];
  for (const gateway of world.gateways) {
    faults.push(...(await faultsOfName(gateway, diary)));
    faults.push(...(await faultsOfKeys(gateway, diary)));
    faults.push(...(await faultsOfToken(gateway, diary)));
  }
  faults.push(...(await faultsOfOnce(world, diary)));
  faults.push(...(await faultsOfCharges(world)));
  for (const [key, state] of diary.keys) if (state !== 'valid') diary.keys.delete(key);
  diary.once.clear();
  return faults;
}

/** Others follow within a second; a machine that is busy is given longer. */
async function comesTrue(what: string, look: () => Promise<boolean>): Promise<string[]> {
  return await waitFor(what, look).then(
    () => [],
    (error: unknown) => [`${what}: ${error instanceof Error ? error.message : error}`],
  );
}

async function faultsOfName(gateway: Gateway, { name }: Diary): Promise<string[]> {
  let found = '';
  const faults = await comesTrue(`the name is n${name.acknowledged} or later`, async () => {
    found = (await admin<{ name: string }>(gateway, 'GET', '/teams/free')).name;
    return name.acknowledged === 0 || Number(found.slice(1)) >= name.acknowledged;
  });
  const isOfNobody = name.acknowledged > 0 && Number(found.slice(1)) > name.sent;
  return isOfNobody ? [...faults, `the name is ${found}, which was never sent`] : faults;
}

async function faultsOfKeys(gateway: Gateway, { keys }: Diary): Promise<string[]> {
  const faults: string[] = [];
  for (const [key, state] of keys) {
    if (state === 'in doubt') continue;
    const wanted = state === 'valid' ? 200 : 401;
    faults.push(
      ...(await comesTrue(
        `a ${state} key answers ${wanted}`,
        async () => (await askMe(gateway, key)) === wanted,
      )),
    );
  }
  return faults;
}

async function faultsOfToken(gateway: Gateway, { token }: Diary): Promise<string[]> {
  const { acknowledged, isInDoubt } = token;
  if (acknowledged === null || isInDoubt) {
    const active = await activeToken(gateway);
    return active === '' ? ['no token is active'] : [];
  }
  return comesTrue(
    `the token ${acknowledged} is active`,
    async () => (await activeToken(gateway)) === acknowledged,
  );
}

/** Repeats each: the platform is told of none a second time, and whoever had an answer gets the same. */
async function faultsOfOnce(
  { gateways, keys, sim, redisIsKilled }: World,
  { once }: Diary,
): Promise<string[]> {
  const faults: string[] = [];
  for (const [name, first] of once) {
    const again = await repeat(gateways[0] as Gateway, keys.free, name);
    const isAsBefore = again.status === 201 && again.text === first;
    // Redis was killed before it took the answer: it is not known how the write ended, and it is not sent again.
    const isUnknown = redisIsKilled && again.status === 409 && again.text.includes('idempotency_in_flight');
    if (first !== null && !isAsBefore && !isUnknown)
      faults.push(`${name} was answered, and its repeat got ${again.status} ${again.text.slice(0, 100)}`);
  }
  const sent = new Map<string, number>();
  for (const { path, body } of await sim.calls()) {
    if (path !== CREATE) continue;
    const { name } = JSON.parse(body) as { name: string };
    sent.set(name, (sent.get(name) ?? 0) + 1);
  }
  for (const name of once.keys()) {
    const times = sent.get(name) ?? 0;
    if (times > 1) faults.push(`${name} reached the platform ${times} times`);
  }
  return faults;
}

/** Until the store is there again, no write with a key is let through. */
async function repeat(gateway: Gateway, key: string, name: string): Promise<Answer> {
  return await waitFor('the store', async () => {
    const answer = await create(gateway, key, name, name);
    return answer.status !== 503 && answer;
  });
}

/** What the team was charged in all; by the platform's own count, what was sent since `forget` of its calls. */
const charged = new WeakMap<World, { day: string; sent: number }>();

async function faultsOfCharges(world: World): Promise<string[]> {
  const sentNow = (await world.sim.calls()).filter(
    ({ path, body }) => path === CREATE && body.includes('"guarded-'),
  ).length;
  await world.sim.forget();
  const left = await leftOfDay(world.gateways[0] as Gateway, world.keys.guarded);
  if (typeof left === 'string') return [left];
  const before = charged.get(world);
  // At midnight another day begins, from which nothing was taken.
  const sent = before !== undefined && before.day === left.day ? before.sent + sentNow : sentNow;
  charged.set(world, { day: left.day, sent });
  if (before !== undefined && before.day !== left.day) return [];
  const taken = MAX_A_DAY - left.amount;
  return taken >= sent * EACH ? [] : [`${sent} guarded writes were sent, and ${taken} charged for them`];
}
