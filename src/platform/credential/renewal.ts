/** Way 2 renews the active token by itself, well before it expires: one replica at a time, and not all at one moment. */
import type { Logger } from 'pino';
import { randomId, randomShare } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import type { Leases } from '../../store/port.js';
import { GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { VaultKeeper } from './keeper.js';
import { renewalLeadMs, renewalTime } from './outlook.js';
import type { Rotation } from './rotation.js';
import { isExpired, type Token } from './vault.js';

/** Held by whoever renews; after a failure nobody tries again until it ends. */
const LEASE_KEY = 'lease:{credential}:renew';
const MAX_RETRY_MS = 3_600_000;
/** How long to leave it to the replica that holds the lease. */
const LOOK_AGAIN_MS = 60_000;
/** A pending token this young belongs to an operator who is at work. */
const AT_WORK_MS = 86_400_000;

export interface RenewalOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly renewBeforeMs: number;
  /** From 0 to 1: how far into the first tenth of the remaining time this process waits. */
  readonly jitter?: number;
}

/** @returns what is to be called now and then. It throws StoreUnavailable, SealError */
export function createRenewal(options: RenewalOptions): () => Promise<void> {
  const { keeper, rotation, leases, clock, logger, renewBeforeMs, jitter = randomShare() } = options;
  let lookAgainAtMs = Number.NEGATIVE_INFINITY;

  /** An expired token is a matter of recovery, and one that nobody has to wait for. */
  function isDue(token: Token): boolean {
    if (isExpired(token, clock.now())) return false;
    const atMs = renewalTime(token, renewBeforeMs);
    return atMs !== null && clock.now() >= atMs + (jitter * renewalLeadMs(token, renewBeforeMs)) / 10;
  }

  function isOperatorAtWork(): boolean {
    const { pending } = keeper.vault();
    return pending !== null && clock.now() - Date.parse(pending.createdAt) < AT_WORK_MS;
  }

  async function renew(before: Token): Promise<void> {
    logger.info({ tokenId: before.id, expiresAt: before.expiresAt }, 'the platform token is being renewed');
    await rotation.rotate(null, false, GATEWAY_ACTOR);
    const { active } = keeper.vault();
    if (active !== null && isDue(active)) {
      logger.warn('the platform handed out the same token, with the same expiry; trying again later');
      return;
    }
    logger.info({ tokenId: active?.id, expiresAt: active?.expiresAt }, 'the platform token was renewed');
  }

  return async function renewWhenDue() {
    const { active } = keeper.vault();
    if (active === null || !isDue(active) || isOperatorAtWork() || clock.monotonicMs() < lookAgainAtMs)
      return;
    const retryMs = Math.min(MAX_RETRY_MS, Math.max(1000, renewalLeadMs(active, renewBeforeMs) / 10));
    lookAgainAtMs = clock.monotonicMs() + Math.min(LOOK_AGAIN_MS, retryMs);
    // A name of its own for each try, for the holder of a lease may take it once more.
    const owner = randomId();
    const [mine] = await leases.claim([LEASE_KEY], owner, retryMs);
    if (!mine) return;
    await keeper.refresh();
    const latest = keeper.vault().active;
    if (latest !== null && isDue(latest)) {
      await renew(latest).catch((error: unknown) => {
        logger.error({ err: error }, 'the platform token could not be renewed; trying again later');
      });
    }
    const after = keeper.vault().active;
    if (after === null || !isDue(after)) await leases.release([LEASE_KEY], owner);
  };
}
