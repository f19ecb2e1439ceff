/** Clocks of processes that are a day off, or run too fast, by libfaketime. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { admin, type IssuedKey } from '../../../../support/ask.js';
import type { Env, Gateway } from '../../../../support/processes.js';
import { waitFor } from '../../../../support/wait-for.js';
import { faultsAfter } from '../check.js';
import { newDiary, startWorks } from '../works.js';
import { askMe, CREATE, EACH, leftOfDay, MAX_A_DAY, openWorld, type World } from '../world.js';
import { type Found, inWorld, type Limit } from './limit.js';
import { others, type Probe, startProbe, told, waitUntilTold } from './probe.js';

const [AHEAD, BEHIND, FAST] = ['+1d', '-1d', '+0 x1.1'];
const REVOCATIONS = 5;
/** A second is promised; a machine that is busy is given longer. */
const REVOKED_WITHIN_MS = 5_000;
/** As Redis tells of a key that stays. */
const NO_END = -1;
/** No lease is taken for longer, milliseconds. */
const LOCK_MAX_MS = 30 * 60_000;

export const CLOCKS_DIFFER: Limit = {
  name: 'Clocks a day apart',
  what: 'Of three gateways on one Redis the clock of one is a day ahead, of one a day behind, and one runs 1.1 times as fast, among changes and writes.',
  async play(chance) {
    const clock = await findFaketime();
    if (typeof clock === 'string') return clock;
    const world = await openWorld({
      name: 'Clocks that differ',
      what: '',
      count: 3,
      victim: 'gateway',
      env: (at) => clock.env([AHEAD, BEHIND, FAST][at] as string),
    });
    return await inWorld(world, () => playApart(world, chance));
  },
};

/** @returns how a process is given a clock; why not, as a text, where the library is not there */
async function findFaketime(): Promise<{ env(clock: string): Env } | string> {
  for (const machine of await readdir('/usr/lib').catch(() => [])) {
    const folder = join('/usr/lib', machine, 'faketime');
    const found = await readdir(folder).catch(() => []);
    const library = found.find((name) => name.startsWith('libfaketimeMT.so'));
    if (library === undefined) continue;
    const LD_PRELOAD = join(folder, library);
    return { env: (FAKETIME) => ({ LD_PRELOAD, FAKETIME, DONT_FAKE_MONOTONIC: '1' }) };
  }
  return 'needs libfaketime (Debian: apt-get install faketime)';
}

async function playApart(world: World, chance: () => number): Promise<Found> {
  const diary = newDiary();
  const [first] = world.gateways as [Gateway];
  const stop = startWorks(world, diary, { chance, imports: false });
  const probe = await startProbe(world);
  let worstMs = 0;
  try {
    for (let at = 0; at < REVOCATIONS; at += 1) worstMs = Math.max(worstMs, await revoke(world, at));
    await waitUntilTold(first, probe.reports, '200', 20);
  } finally {
    await probe.stop();
    await stop();
  }
  const faults = [...faultsOf(probe), ...(await faultsOfCharges(world)), ...(await faultsOfLocks(world))];
  // Each clock has a day of its own, so that no one day is charged with all.
  const later = await faultsAfter(world, diary);
  faults.push(...later.filter((fault) => !fault.includes('guarded writes were sent')));
  if (worstMs > REVOKED_WITHIN_MS) faults.push(`a revoked key was let in for ${Math.round(worstMs)} ms`);
  for (const gateway of world.gateways) await admin(gateway, 'GET', '/status');
  return {
    times: REVOCATIONS,
    faults,
    worst: `${Math.round(worstMs)} ms until a revoked key was refused by all`,
    note: `${diary.steps} changes and writes acknowledged; changes ${told(probe.changes)}; reports ${told(probe.reports)}`,
  };
}

const faultsOf = (probe: Probe) => [
  ...probe.faults,
  ...others('a change', probe.changes, ['201']),
  ...others('a report', probe.reports, ['200']),
];

/** Issues a key at one, waits until all know it, and revokes it at another. @returns how long another let it in */
async function revoke(world: World, at: number): Promise<number> {
  const of = (place: number) => world.gateways[place % world.gateways.length] as Gateway;
  const { id, key } = await admin<IssuedKey>(of(at), 'POST', '/teams/free/keys', {});
  const allAnswer = (status: number) =>
    waitFor(`${status} of all`, async () => {
      const statuses = await Promise.all(world.gateways.map((gateway) => askMe(gateway, key)));
      return statuses.every((one) => one === status);
    });
  await allAnswer(200);
  const revokedMs = performance.now();
  await admin(of(at + 1), 'DELETE', `/keys/${id}`);
  await allAnswer(401);
  return performance.now() - revokedMs;
}

/** All that was sent is charged, each to the day of the clock it came by. */
async function faultsOfCharges({ gateways, keys, sim }: World): Promise<string[]> {
  const days = new Map<string, number>();
  for (const gateway of gateways) {
    const left = await leftOfDay(gateway, keys.guarded);
    if (typeof left === 'string') return [left];
    days.set(left.day, MAX_A_DAY - left.amount);
  }
  const calls = await sim.calls();
  const sent = calls.filter(({ path, body }) => path === CREATE && body.includes('"guarded-')).length;
  const taken = [...days.values()].reduce((sum, one) => sum + one, 0);
  return taken >= sent * EACH ? [] : [`${sent} guarded writes were sent, and ${taken} charged in all`];
}

/** No lease and nothing of the cache stays for as long as clocks differ. */
async function faultsOfLocks({ redis }: World): Promise<string[]> {
  const client = new Redis(redis?.url ?? '');
  try {
    await pause(1_000);
    const faults: string[] = [];
    for (const key of await client.keys('*')) {
      const ms = await client.pttl(key);
      if (key.includes(':lease:') && ms > LOCK_MAX_MS) faults.push(`${key} is held for ${ms} ms`);
      if (key.includes(':cache') && ms === NO_END) faults.push(`${key} stays for ever`);
    }
    return faults;
  } finally {
    client.disconnect();
  }
}
