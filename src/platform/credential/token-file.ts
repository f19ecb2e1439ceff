/**
 * Way 1: a token from the settings is planted once, and never undoes a rotation. After a change of `PLATFORM_TOKEN_FILE` its
 * token is staged, verified and activated. The file is polled by its `Secret`.
 */
import type { Logger } from 'pino';
import type { Secret } from '../../config/secret.js';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { VaultKeeper } from './keeper.js';
import type { Rotation } from './rotation.js';
import { fingerprintOf, type NewToken } from './vault.js';
import { REFUSED } from './verify-token.js';

interface SeedOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly pepper: () => Buffer;
  readonly logger: Logger;
}

/**
 * active: activated · refused, unproven: it stays pending · left: it has been in the vault, or another token replaced it
 */
export type SeedOutcome = 'active' | 'refused' | 'unproven' | 'left';

/**
 * Stages, verifies and activates a token that was never in the vault. If no token is active, it is activated even without
 * proof, unless the platform refuses it: the first report proves it as well. Several processes may do this at once; if one is
 * killed, the next one that finds the seed pending continues.
 * @param mayGuess whether calls may be made that no caller has made yet
 */
export async function bootstrapToken(
  seed: NewToken,
  options: SeedOptions,
  mayGuess = false,
): Promise<SeedOutcome> {
  const { rotation, logger } = options;
  const { pending } = await rotation.plant(seed, GATEWAY_ACTOR);
  const fingerprint = fingerprintOf(seed.secret, options.pepper());
  if (pending?.fingerprint !== fingerprint || pending.source !== seed.source) return 'left';
  try {
    const doubt = await prove(pending.id, options, mayGuess);
    if (doubt !== null) return doubt;
    await rotation.activate(true, GATEWAY_ACTOR, pending.id);
    return 'active';
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'conflict') throw error;
    logger.warn({ reason: error.options.detail }, 'the seeded platform token was not activated');
    return 'left';
  }
}

/** Why it should not be activated; null if it should. */
async function prove(
  id: string,
  { keeper, rotation, logger }: SeedOptions,
  mayGuess: boolean,
): Promise<'refused' | 'unproven' | null> {
  try {
    await rotation.verify(GATEWAY_ACTOR, id, mayGuess);
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'verification_failed') throw error;
    const refused = error.options.internal === REFUSED;
    if (keeper.vault().active !== null || refused) {
      logger.warn({ reason: error.options.detail }, 'the seeded platform token stays pending');
      return refused ? 'refused' : 'unproven';
    }
    const reason = error.options.detail;
    logger.info({ reason }, 'the seeded platform token is used unproven until the platform answers to it');
    return null;
  }
}

/** Wait before an unproven token is tried again. */
const RETRY_MS = 60_000;

/**
 * Follows the file of `PLATFORM_TOKEN`.
 * @param planted its content at startup
 * @returns a job of the leader. It throws StoreUnavailable, SealError
 */
export function createTokenFile(
  file: Secret,
  planted: string,
  { clock, ...options }: SeedOptions & { readonly clock: Clock },
): () => Promise<void> {
  const { keeper, pepper, logger } = options;
  let settled = planted;
  let retryAtMs = Number.NEGATIVE_INFINITY;
  file.onChange(() => {
    retryAtMs = Number.NEGATIVE_INFINITY;
  });

  return async () => {
    const secret = file.read();
    if (secret === settled || clock.monotonicMs() < retryAtMs) return;
    await keeper.refresh();
    const outcome = await bootstrapToken({ secret, source: 'file', expiresAt: null }, options, true);
    const { active } = keeper.vault();
    if (outcome === 'active')
      logger.info({ tokenId: active?.id }, 'the platform token was rotated: its file changed');
    // An old or restored file must not undo a rotation.
    if (outcome === 'left' && active?.fingerprint !== fingerprintOf(secret, pepper()))
      logger.warn('the file of PLATFORM_TOKEN has a former token; the active token stays in use');
    if (outcome === 'unproven') retryAtMs = clock.monotonicMs() + RETRY_MS;
    else settled = secret;
  };
}
