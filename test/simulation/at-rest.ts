/** What is left when nothing goes wrong any more and nobody asks: nothing but what was acknowledged. */
import type { MemoryServer } from '../support/memory/memory-store.js';
import { askAt, asks, question } from './asking.js';
import { lapse, type WorldOfSeed } from './world.js';

/** Leases that are never released: they say that something has been done, until they lapse. */
const LAPSING = /^(cross-check:|lease:\{gateway\}:(leader|divisibility)|lease:\{credential\}:proof:)/;
/** Every tenth of a second, for two seconds. */
const LOOKS = 20;

const knowTheSame = ({ replicas }: WorldOfSeed) =>
  new Set([...replicas.values()].map(({ services }) => services.registry.version)).size === 1;

/** Nothing is held, nobody waits, everybody knows the same, and everything is answered. */
export async function atRest(world: WorldOfSeed, server: MemoryServer): Promise<void> {
  const { replicas, oracle, keys } = world;
  // What is written behind, as how much is left of a token, is known to all a little later.
  for (let looks = 0; looks < LOOKS && !knowTheSame(world); looks += 1) await lapse(world, 100);
  const version = [...replicas.values()][0]?.services.registry.version;
  const leases = server.leases().filter(([name]) => !LAPSING.test(name));
  if (leases.length > 0) throw new Error(`leases are left: ${JSON.stringify(leases)}`);
  for (const { name, services, log } of replicas.values()) {
    const outlived = log.find((line) => line.includes('outlived their call'));
    if (outlived !== undefined)
      throw new Error(`${name} let go of a lock that nobody had ended: ${outlived}`);
    const { budget, reporting, registry, directory } = services;
    const left = { running: budget.running, queued: budget.queued, waiting: reporting.waiting() };
    if (Object.values(left).some((count) => count > 0))
      throw new Error(`${name} has left ${JSON.stringify(left)}`);
    if (registry.version !== version) throw new Error(`${name} knows another registry`);
    for (const [id, all] of oracle.policies) {
      const wanted = all.findLast(({ doneMs }) => doneMs !== null);
      const later = wanted === undefined ? all : all.slice(all.indexOf(wanted));
      const found = JSON.stringify(directory.team(id)?.advertisers);
      if (wanted !== undefined && !later.some(({ advertisers }) => JSON.stringify(advertisers) === found))
        throw new Error(`${name} has lost the policy of ${id}: ${found}`);
    }
    for (const key of keys) {
      const isRevoked = (directory.key(key.id)?.revokedAt ?? null) !== null;
      const wanted = oracle.revoked.get(key.text);
      if (wanted?.doneMs !== undefined && wanted.doneMs !== null && !isRevoked)
        throw new Error(`${name} has lost the revocation of ${key.id}`);
    }
  }
  await everythingIsAnswered(world);
}

async function everythingIsAnswered(world: WorldOfSeed): Promise<void> {
  const { replicas, oracle, keys } = world;
  const last = keys.find(({ team }) => team === 'all');
  if (last === undefined) throw new Error('no key of a team that sees all');
  const before = oracle.counts.get('200') ?? 0;
  for (const replica of replicas.values()) {
    const what = { ...question({ ...world, keys: [last] }), directive: null };
    await askAt(world, asks(world, replica, what, last), replica);
  }
  if ((oracle.counts.get('200') ?? 0) < before + replicas.size)
    throw new Error('not everything is answered at rest');
}
