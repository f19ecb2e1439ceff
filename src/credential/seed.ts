/** Way 1 at the start: `PLATFORM_TOKEN` is planted once, and never undoes a rotation. */
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import { GATEWAY_ACTOR } from '../telemetry/audit.js';
import type { VaultKeeper } from './keeper.js';
import { REFUSED, type Rotation } from './rotation.js';
import { fingerprintOf, type NewToken, type Vault } from './vault.js';

export interface SeedOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly pepper: Buffer;
  readonly logger: Logger;
}

/**
 * Stages, verifies and activates a token that was never in the vault. In an empty vault it is activated even
 * while nothing can prove it, for there is nothing to lose; a token the platform refuses is not, and stays pending.
 *
 * Several processes may do this at once, and one may have ended half-way: whoever finds the seed still pending
 * takes it further.
 * @returns the vault afterwards
 */
export async function plantSeed(seed: NewToken, options: SeedOptions): Promise<Vault> {
  const { keeper, rotation, logger } = options;
  const { pending } = await rotation.plant(seed, GATEWAY_ACTOR);
  const fingerprint = fingerprintOf(seed.secret, options.pepper);
  if (pending?.fingerprint !== fingerprint || pending.source !== seed.source) return keeper.vault();
  try {
    if (!(await isWorthActivating(pending.id, options))) return keeper.vault();
    return await rotation.activate(true, GATEWAY_ACTOR, pending.id);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'conflict') throw error;
    logger.warn({ reason: error.options.detail }, 'the seeded platform token was not activated');
    return keeper.vault();
  }
}

async function isWorthActivating(id: string, { keeper, rotation, logger }: SeedOptions): Promise<boolean> {
  try {
    await rotation.verify(GATEWAY_ACTOR, id);
    return true;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'verification_failed') throw error;
    const refused = error.options.internal === REFUSED;
    if (keeper.vault().active !== null || refused) {
      logger.warn({ reason: error.options.detail }, 'the seeded platform token stays pending');
      return false;
    }
    logger.warn('the seeded platform token is used without proof; set PLATFORM_PROBE to have it proven');
    return true;
  }
}
