/** What operators have changed, and whether it is still there. */
import { chanceOf } from '../../../simulation/chance-of-seed.js';
import { admin, ask, type IssuedKey } from '../../../support/ask.js';
import type { Gateway } from '../../../support/processes.js';
import type { Fleet } from './fleet.js';
import { questionOf } from './load.js';

/** A change that was asked for. Without `ackedAt` it may have been made, or not. */
export interface Change<T> {
  readonly value: T;
  readonly sentAt: number;
  ackedAt: number | null;
}

/** What has been asked for in a scene so far. */
export interface Changes {
  readonly policies: Change<readonly number[]>[];
  readonly tokens: Change<string>[];
  readonly revoked: Change<IssuedKey>[];
}

/** None yet. */
export const noChanges = (): Changes => ({
  policies: [{ value: [4], sentAt: 0, ackedAt: 0 }],
  tokens: [],
  revoked: [],
});

/** What was acknowledged is there, on every gateway. @returns what is not */
export async function lostChanges(
  fleet: Fleet,
  { policies, tokens, revoked }: Changes,
  today: string,
): Promise<string[]> {
  const found: string[] = [];
  for (const gateway of fleet.gateways) found.push(...(await lostOn(gateway, policies, revoked)));
  const vaults = await Promise.all(
    fleet.gateways.map((gateway) => admin<{ active: { id: string } }>(gateway, 'GET', '/token')),
  );
  if (new Set(vaults.map(({ active }) => active.id)).size > 1) found.push('the gateways have several tokens');
  const asked = await tokenInUse(fleet, today);
  if (asked !== null && !candidates(tokens, fleet.platform.token).includes(asked))
    found.push('the token in use is not the one that was acknowledged last');
  return found;
}

/** What may be in force: what was acknowledged last, and what came behind it and may have been made. */
function candidates<T>(changes: readonly Change<T>[], before: T): T[] {
  const last = changes.findLastIndex(({ ackedAt }) => ackedAt !== null);
  const later = changes.slice(Math.max(0, last)).map(({ value }) => value);
  return last < 0 ? [before, ...later] : later;
}

interface KeyShown {
  readonly id: string;
  readonly revokedAt: string | null;
}

async function lostOn(
  gateway: Gateway,
  policies: readonly Change<readonly number[]>[],
  revoked: readonly Change<IssuedKey>[],
): Promise<string[]> {
  const found: string[] = [];
  const { advertisers } = await admin<{ advertisers: readonly number[] }>(gateway, 'GET', '/teams/moving');
  const may = candidates(policies, [4]).map((list) => JSON.stringify(list));
  if (!may.includes(JSON.stringify(advertisers)))
    found.push(`${gateway.admin} has advertisers ${JSON.stringify(advertisers)}; acknowledged is ${may[0]}`);
  // Asked of operators: whoever calls with keys that are not taken is answered ever more slowly.
  const { keys } = await admin<{ keys: readonly KeyShown[] }>(gateway, 'GET', '/teams/one/keys');
  const dead = new Set(keys.filter(({ revokedAt }) => revokedAt !== null).map(({ id }) => id));
  for (const { value, ackedAt } of revoked)
    if (ackedAt !== null && !dead.has(value.id))
      found.push(`${gateway.admin} has lost the revocation of ${value.id}`);
  return found;
}

/** As the platform sees it. */
async function tokenInUse(fleet: Fleet, today: string): Promise<string | null> {
  const [gateway] = fleet.gateways;
  const { path, options } = questionOf(chanceOf(1, 'token'), today);
  await fleet.sim.forget();
  const key = fleet.keys.get('all')?.key ?? '';
  await ask(`${gateway?.data}${path}`, { ...options, key, headers: { 'cache-control': 'no-cache' } });
  const [call] = await fleet.sim.calls();
  return call?.headers.authorization?.replace('Bearer ', '') ?? null;
}
