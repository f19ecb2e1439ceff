/**
 * `PLATFORM_TOKEN_FILE` changed on disk is a rotation: the token in it is staged, proven and activated. The file itself is polled by whoever holds the secret; here its content is held against the vault.
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

// Way 1: a token from the settings is planted once, and never undoes a rotation.

interface SeedOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly pepper: Buffer;
  readonly logger: Logger;
}

/**
 * active: it was activated · refused, unproven: it stays pending, for the platform refused it, or nothing proved it ·
 * left: it was in the vault before, or another token came in its way
 */
export type SeedOutcome = 'active' | 'refused' | 'unproven' | 'left';

/**
 * Stages, verifies and activates a token that was never in the vault. In an empty vault it is activated even
 * while nothing can prove it, for there is nothing to lose; a token the platform refuses is not, and stays pending.
 *
 * Several processes may do this at once, and one may have ended half-way: whoever finds the seed still pending
 * takes it further.
 */
export async function bootstrapToken(seed: NewToken, options: SeedOptions): Promise<SeedOutcome> {
  const { rotation, logger } = options;
  const { pending } = await rotation.plant(seed, GATEWAY_ACTOR);
  const fingerprint = fingerprintOf(seed.secret, options.pepper);
  if (pending?.fingerprint !== fingerprint || pending.source !== seed.source) return 'left';
  try {
    const doubt = await prove(pending.id, options);
    if (doubt !== null) return doubt;
    await rotation.activate(true, GATEWAY_ACTOR, pending.id);
    return 'active';
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'conflict') throw error;
    logger.warn({ reason: error.options.detail }, 'the seeded platform token was not activated');
    return 'left';
  }
}

/** @returns why it should not be activated, or null */
async function prove(
  id: string,
  { keeper, rotation, logger }: SeedOptions,
): Promise<'refused' | 'unproven' | null> {
  try {
    // A start asks the platform for nothing that nobody wants: the first report proves the token as well.
    await rotation.verify(GATEWAY_ACTOR, id, false);
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'verification_failed') throw error;
    const refused = error.options.internal === REFUSED;
    if (keeper.vault().active !== null || refused) {
      logger.warn({ reason: error.options.detail }, 'the seeded platform token stays pending');
      return refused ? 'refused' : 'unproven';
    }
    logger.warn(
      'the seeded platform token is used unproven until the platform answers to it; set PLATFORM_PROBE to have it proven at the start',
    );
    return null;
  }
}

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
  readonly clock: Clock;
  readonly logger: Logger;
}

/** @returns a job of the leader. It throws StoreUnavailable, SealError */
export function createTokenFile(options: TokenFileOptions): () => Promise<void> {
  const { file, keeper, rotation, clock, logger } = options;
  let settled = options.planted;
  let tryAgainAtMs = Number.NEGATIVE_INFINITY;
  file.onChange(() => {
    tryAgainAtMs = Number.NEGATIVE_INFINITY;
  });

  return async function follow() {
    const secret = file.read();
    if (secret === settled || clock.monotonicMs() < tryAgainAtMs) return;
    await keeper.refresh();
    if (await take(secret)) settled = secret;
    else tryAgainAtMs = clock.monotonicMs() + RETRY_MS;
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
