/**
 * When the platform refuses the active token, or its time is over, one replica puts another in its place: the
 * pending one if it is verified, else a freshly minted one, else the previous one. The others wait for it.
 */

import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import type { Leases } from '../../store/port.js';
import type { ActiveToken, TokenSource } from '../slot.js';
import { createCooldown } from './cooldown.js';
import type { Evidence } from './evidence.js';
import { createRecoveryLead } from './lead-recovery.js';
import { isUnusable, type ReplaceTokenOptions, replaceToken } from './replace-token.js';
import { SealError } from './seal.js';

export interface TokenRecoveryOptions extends ReplaceTokenOptions {
  readonly evidence: Evidence;
  readonly leases: Leases;
}

export interface TokenRecovery extends TokenSource {
  /** The active token; recovers first when there is none, or its time is over. */
  current(): Promise<ActiveToken>;
  /** Makes sure there is an active token, minting one if need be. @returns whether there is */
  ensure(): Promise<boolean>;
}

export function createTokenRecovery(options: TokenRecoveryOptions): TokenRecovery {
  const { keeper, evidence, leases, clock, logger } = options;
  const owner = randomId();
  const cooldown = createCooldown({ leases, owner, clock, logger });
  const lead = createRecoveryLead({ leases, owner, clock, logger });
  let running: Promise<boolean> | null = null;

  const activeId = () => keeper.vault().active?.id ?? null;
  const isBad = (refusedId: string | null) => isUnusable(keeper.vault(), refusedId, clock.now());
  const rests = () => cooldown.isOn(activeId());

  async function current(): Promise<ActiveToken> {
    try {
      if (!rests() && isBad(null)) await recover(null);
      if (rests()) throw new GatewayError('credential_unavailable', { retryAfterS: cooldown.leftSeconds() });
      const { id, secret } = keeper.active();
      return { id, token: secret };
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      throw new GatewayError('credential_unavailable', { internal: error.message, cause: error });
    }
  }

  /** One recovery at a time in this process; after a failed one there is a rest, longer each time. */
  async function recover(refusedId: string | null): Promise<boolean> {
    if (!isBad(refusedId)) return true;
    if (rests()) return false;
    running ??= lead({
      isDone: () => !isBad(refusedId),
      attempt: () => attempt(refusedId),
      failed: () => cooldown.start(activeId()),
      storeAway: () => cooldown.pause(activeId()),
    })
      .catch((error: unknown) => {
        logger.error({ err: error }, 'the platform credential could not be recovered');
        return false;
      })
      .finally(() => {
        running = null;
      });
    await running;
    // It may have been the recovery of another token.
    return !isBad(refusedId);
  }

  async function attempt(refusedId: string | null): Promise<boolean> {
    // Another replica may have recovered just now, and its message not have come yet.
    await keeper.refresh();
    if (!isBad(refusedId)) return true;
    return !(await cooldown.isOnElsewhere(activeId())) && replaceToken(refusedId, options);
  }

  return {
    current,
    async refused(id) {
      const recovered = await recover(id);
      if (!recovered) evidence.note(id, 'refused');
      return recovered;
    },
    accepted: (id) => evidence.note(id, 'accepted'),
    ensure: () => recover(null),
  };
}
