/**
 * `PLATFORM_TOKEN_FILE` changed on disk is a rotation: the token in it is staged, proven and activated, by one
 * replica. The file itself is polled by whoever holds the secret; here its content is held against the vault.
 */
import type { Logger } from 'pino';
import type { Secret } from '../../config/secret.js';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import type { Leases } from '../../store/port.js';
import { bootstrapToken } from './bootstrap-token.js';
import { takeHold, whileHolding } from './hold-lease.js';
import type { VaultKeeper } from './keeper.js';
import type { Rotation } from './rotation.js';
import { fingerprintOf } from './vault.js';

const LEASE_KEY = 'lease:{credential}:file';
/** How long a token that could not be proven waits for another try. */
const RETRY_MS = 60_000;

export interface TokenFileOptions {
  /** `PLATFORM_TOKEN`, when it comes from a file. */
  readonly file: Secret;
  /** What it held when it was planted at the start. */
  readonly planted: string;
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly pepper: () => Buffer;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** @returns what is to be called now and then. It throws StoreUnavailable, SealError */
export function createTokenFile(options: TokenFileOptions): () => Promise<void> {
  const { file, keeper, rotation, leases, clock, logger } = options;
  let settled = options.planted;
  let tryAgainAtMs = Number.NEGATIVE_INFINITY;
  file.onChange(() => {
    tryAgainAtMs = Number.NEGATIVE_INFINITY;
  });

  return async function follow() {
    const secret = file.read();
    if (secret === settled || clock.monotonicMs() < tryAgainAtMs) return;
    const owner = randomId();
    const hold = { leases, key: LEASE_KEY, owner, logger };
    // The others look again: the leader may have died, or its file may have been the older one.
    if (!(await takeHold(hold))) return;
    try {
      await whileHolding(hold, async () => {
        await keeper.refresh();
        if (await take(secret)) settled = secret;
        else tryAgainAtMs = clock.monotonicMs() + RETRY_MS;
      });
    } finally {
      await leases.release([LEASE_KEY], owner);
    }
  };

  /** @returns whether nothing more is to be done about this token */
  async function take(secret: string): Promise<boolean> {
    const fingerprint = fingerprintOf(secret, options.pepper());
    const seed = { secret, source: 'file', expiresAt: null } as const;
    const outcome = await bootstrapToken(seed, { keeper, rotation, pepper: options.pepper(), logger });
    const { active } = keeper.vault();
    if (outcome === 'active') {
      logger.info({ tokenId: active?.id }, 'the platform token was rotated, for its file was changed');
    }
    // A file that lags behind, or was put back, must not undo a rotation.
    if (outcome === 'left' && active?.fingerprint !== fingerprint) {
      logger.warn('the file of PLATFORM_TOKEN holds a token that was in use before; the active one stays');
    }
    return outcome !== 'unproven';
  }
}
