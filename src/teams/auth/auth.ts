/** Authentication by keys and teams of the registry. */
import ipaddr from 'ipaddr.js';
import type { Config } from '../../config/load.js';
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import { sleep } from '../../lib/time.js';
import type { Sealer } from '../../platform/credential/seal.js';
import type { Counters } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import type { RefusedKey } from '../../telemetry/refused-keys.js';
import { createPersons, whoOf } from '../sign-in/persons.js';
import { authenticate, type Identify } from './authenticate.js';
import { createDirectory } from './directory.js';
import { createLastUse } from './last-use.js';
import { openPepper, tokenPepper } from './pepper.js';

// Slows down guessing of keys: refusals to an address are delayed by its recent refusals. Valid keys are not delayed.

/** Refusals without delay, e.g. of an app with an old key. */
const FREE = 20;
const FIRST_MS = 25;
const MOST_MS = 1000;
/** Half-life of the count of refusals. */
const HALF_LIFE_MS = 30_000;
const MAX_ADDRESSES = 10_000;
/** Maximum delayed refusals at a time; further ones are sent at once, to bound memory. */
const MAX_HELD = 256;

export function createSlowFailures(clock: Clock) {
  const scores = createLastUsed<{ readonly refusals: number; readonly atMs: number }>(MAX_ADDRESSES);
  let held = 0;

  /** Counts a refusal. @returns its delay */
  function delayMs(address: string): number {
    const group = groupOf(address);
    const nowMs = clock.monotonicMs();
    const before = scores.get(group) ?? { refusals: 0, atMs: nowMs };
    const refusals = before.refusals * 0.5 ** ((nowMs - before.atMs) / HALF_LIFE_MS) + 1;
    scores.set(group, { refusals, atMs: nowMs });
    if (refusals <= FREE) return 0;
    return Math.min(MOST_MS, FIRST_MS * 2 ** ((refusals - FREE) / 8));
  }

  return {
    delayMs,
    /** Counts a refusal, and resolves when it may be sent. */
    async hold(address: string): Promise<void> {
      const ms = delayMs(address);
      if (ms === 0 || held >= MAX_HELD) return;
      held += 1;
      await sleep(ms, { ref: false });
      held -= 1;
    },
  };
}

/** IPv6 addresses count by /64, which one caller may own entirely. */
export function groupOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toNormalizedString().split(':', 4).join(':');
}

/** @throws SealError if the pepper is encrypted with another master key; StoreUnavailable */
export async function createAuth({
  registry,
  sealer,
  counters,
  oidc,
  maxStaleMs,
  clock,
}: {
  readonly registry: Registry;
  readonly sealer: Sealer;
  readonly counters: Counters;
  /** Who may what, for persons. */
  readonly oidc: Config['auth']['oidc'];
  /** Without the store, keys are accepted for this time. */
  readonly maxStaleMs: number;
  readonly clock: Clock;
}) {
  const pepper = await openPepper(registry, sealer);
  const directory = createDirectory(registry, pepper);
  const lastUse = createLastUse(counters, clock);
  const persons = createPersons(registry, sealer, oidc, clock);
  const identify: Identify = (keys, seen) => {
    const nowMs = clock.now();
    const staleForMs = registry.staleForMs();
    const onRefused = (refused: RefusedKey) => {
      seen.refusedKey = refused;
    };
    const caller = authenticate(keys, { directory, persons, maxStaleMs, nowMs, staleForMs, onRefused });
    seen.team = caller.team.id;
    seen.key = caller.key.id;
    if (caller.person === undefined) lastUse.note(caller.key.id, nowMs);
    else seen.person = whoOf(caller.person);
    return caller;
  };
  return {
    directory,
    persons,
    identify,
    lastUse,
    slowFailures: createSlowFailures(clock),
    pepper,
    tokenPepper: tokenPepper(registry, sealer, pepper),
  };
}
