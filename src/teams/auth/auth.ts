/** Who calls: keys and teams from the registry, the pepper they are hashed with, and when each key was last used. */
import ipaddr from 'ipaddr.js';
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import { sleep } from '../../lib/time.js';
import type { Sealer } from '../../platform/credential/seal.js';
import type { Counters } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import { createIdentify, type Identify } from './authenticate.js';
import { createDirectory, type Directory } from './directory.js';
import { createLastUse, type LastUse } from './last-use.js';
import { openPepper, tokenPepper } from './pepper.js';

// Slows down whoever tries keys: the refusals of an address are held back, longer the more there were of late. Nothing
// else is: a valid key from there is served at once.

/** Refusals that cost nothing: an app with an old key has its reasons. */
const FREE = 20;
const FIRST_MS = 25;
const MOST_MS = 1000;
/** Half of the refusals are forgotten after this time. */
const HALF_LIFE_MS = 30_000;
const MAX_ADDRESSES = 10_000;
/** Replies held back at once; beyond it they go out at once, for holding many would be a flood of its own. */
const MAX_HELD = 256;

interface SlowFailures {
  /** Notes a refusal. @returns how long to hold it back, milliseconds */
  delayMs(address: string): number;
  /** Notes a refusal, and resolves when it may go out. */
  hold(address: string): Promise<void>;
}

interface Score {
  readonly refusals: number;
  readonly atMs: number;
}

export function createSlowFailures(clock: Clock): SlowFailures {
  const scores = createLastUsed<Score>(MAX_ADDRESSES);
  let held = 0;

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
    async hold(address) {
      const ms = delayMs(address);
      if (ms === 0 || held >= MAX_HELD) return;
      held += 1;
      await sleep(ms, { ref: false });
      held -= 1;
    },
  };
}

/** IPv6 addresses of one network are one: whoever has a single one has all of its /64. */
function groupOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toNormalizedString().split(':', 4).join(':');
}

interface Auth {
  readonly directory: Directory;
  readonly identify: Identify;
  readonly lastUse: LastUse;
  readonly slowFailures: SlowFailures;
  /** What the platform's tokens are known by. */
  readonly tokenPepper: () => Buffer;
}

interface AuthOptions {
  readonly registry: Registry;
  readonly sealer: Sealer;
  readonly counters: Counters;
  /** A registry that has been out of step for longer lets nobody in, milliseconds. */
  readonly maxStaleMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** @throws SealError when the pepper was sealed with another master key; StoreUnavailable */
export async function createAuth(options: AuthOptions): Promise<Auth> {
  const { registry, sealer, counters, maxStaleMs, clock, logger } = options;
  const pepper = await openPepper(registry, sealer);
  const directory = createDirectory(registry, pepper);
  const lastUse = createLastUse({ counters, clock, logger });
  return {
    directory,
    identify: createIdentify({ directory, registry, clock, maxStaleMs, onUse: lastUse.note }),
    lastUse,
    slowFailures: createSlowFailures(clock),
    tokenPepper: tokenPepper(registry, sealer, pepper),
  };
}
