/**
 * Puts another token in the place of one that is refused, or whose time is over: the pending one if it is verified, else
 * a freshly minted one, else the previous one.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { VaultKeeper } from './keeper.js';
import type { Rotation } from './rotation.js';
import { activate, isExpired, isOver, mayRecover, noteRecovery, rollback, type Vault } from './vault.js';

export interface ReplaceTokenOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly canMint: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** @param refusedId the active token counts as unusable when it is this one, too */
export function isUnusable({ active }: Vault, refusedId: string | null, nowMs: number): boolean {
  return active === null || active.id === refusedId || isOver(active, nowMs);
}

/** @returns whether the active token is a usable one now */
export async function replaceToken(refusedId: string | null, options: ReplaceTokenOptions): Promise<boolean> {
  const { keeper, clock, logger } = options;
  const vault = keeper.vault();
  if (!mayRecover(vault, clock.now())) {
    logger.error('the platform goes on refusing tokens; resting before another is tried');
    return false;
  }
  logger.warn({ tokenId: vault.active?.id ?? null }, 'the platform token has to be replaced');
  const isRecovered = () => !isUnusable(keeper.vault(), refusedId, clock.now());
  const { pending } = vault;
  if (pending !== null && pending.verifiedAt !== null && !isExpired(pending, clock.now()))
    await activatePending(refusedId, pending.id, options);
  else if (options.canMint) await mint(refusedId, options);
  if (isRecovered()) return true;
  const { previous } = keeper.vault();
  if (previous === null || previous.refusedAt !== null) return false;
  await move(refusedId, options, (now) =>
    now.previous?.id === previous.id ? rollback(noteRecovery(now, clock.now()), clock.now()) : now,
  );
  return isRecovered();
}

async function mint(refusedId: string | null, options: ReplaceTokenOptions): Promise<void> {
  try {
    // What is refused sees nothing, so there is nothing to be held against.
    const id = await options.rotation.prepare(null, false, GATEWAY_ACTOR, 'nothing');
    // Null: the active token once more. Good if its time was over, useless if it was refused.
    if (id !== null) await activatePending(refusedId, id, options);
  } catch (error) {
    options.logger.error({ err: error }, 'no token could be minted');
  }
}

function activatePending(refusedId: string | null, id: string, options: ReplaceTokenOptions): Promise<Vault> {
  const { clock } = options;
  return move(refusedId, options, (vault) =>
    vault.pending?.id === id ? activate(noteRecovery(vault, clock.now()), false, clock.now()) : vault,
  );
}

/** Moves the vault only while it is as bad as it was. */
function move(
  refusedId: string | null,
  { keeper, clock }: ReplaceTokenOptions,
  step: (vault: Vault) => Vault,
): Promise<Vault> {
  return keeper.move('token.recover', GATEWAY_ACTOR, (vault) =>
    isUnusable(vault, refusedId, clock.now()) ? step(vault) : vault,
  );
}
