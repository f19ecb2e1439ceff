/** Who calls: keys and teams from the registry, the pepper they are hashed with, and when each key was last used. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import type { Sealer } from '../../platform/credential/seal.js';
import type { Counters } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import { createIdentify, type Identify } from './authenticate.js';
import { createDirectory, type Directory } from './directory.js';
import { createLastUse, type LastUse } from './last-use.js';
import { openPepper, tokenPepper } from './pepper.js';
import { createSlowFailures, type SlowFailures } from './slow-failures.js';

export interface Auth {
  readonly directory: Directory;
  readonly identify: Identify;
  readonly lastUse: LastUse;
  readonly slowFailures: SlowFailures;
  /** What the platform's tokens are known by. */
  readonly tokenPepper: () => Buffer;
}

export interface AuthOptions {
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
