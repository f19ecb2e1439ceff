/**
 * When the platform refuses the active token, or it has expired, one replica replaces it: by the pending one if that is
 * verified, else by a minted one, else by the previous one. The other replicas wait. After a failed recovery all replicas
 * wait before the next one, longer each time.
 */
import type { Logger } from 'pino';
import { GatewayError, type GatewayErrorOptions } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { sleep, startTicks, stopTicks } from '../../lib/time.js';
import { since } from '../../lib/words.js';
import type { Leases } from '../../store/port.js';
import { GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { ActiveToken, TokenSource } from '../slot.js';
import type { Evidence } from './evidence.js';
import type { VaultKeeper } from './keeper.js';
import type { Rotation } from './rotation.js';
import { SealError } from './seal.js';
import { activate, isExpired, isOver, mayRecover, noteRecovery, rollback, type Vault } from './vault.js';

const LEAD_KEY = 'lease:{credential}:recover';
const NEW_TOKEN =
  'Ask your operator to give a new token with `dsp-gateway token rotate`; cached reports are still served.';
/** How long a dead leader blocks others. */
const LEAD_MS = 4000;
const RENEW_EVERY_MS = 1000;
/** How long a replica waits for a living leader. */
const WAIT_MS = 30_000;
const WAIT_STEP_MS = 100;
/** Consecutive failures of the store that end the wait. */
const CLAIM_TRIES = 3;

/** Held during the cooldown after a failed recovery. */
const cooldownKey = (tokenId: string | null) => `lease:{credential}:rest:${tokenId ?? 'none'}`;
const FIRST_COOLDOWN_MS = 2000;
const MAX_COOLDOWN_MS = 60_000;

/** A token that could not be replaced, and when that is tried again. */
interface Cooldown {
  /** Null: no active token. */
  readonly tokenId: string | null;
  readonly untilMs: number;
  readonly lastsMs: number;
}

interface RecoveryOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly evidence: Evidence;
  readonly canMint: boolean;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class TokenRecovery implements TokenSource {
  readonly #owner = randomId();
  #running: Promise<void> | null = null;
  #cooldown: Cooldown | null = null;

  constructor(private readonly options: RecoveryOptions) {}

  /** The active token; recovers first if there is none, or it has expired. */
  async current(): Promise<ActiveToken> {
    try {
      if (!this.#isCoolingDown()) await this.#recover(null);
      if (this.#isCoolingDown()) {
        const leftMs = (this.#cooldown?.untilMs ?? 0) - this.options.clock.monotonicMs();
        const retryAfterS = Math.max(1, Math.ceil(leftMs / 1000));
        throw new GatewayError('credential_unavailable', { ...this.why(), retryAfterS });
      }
      const { id, secret } = this.options.keeper.active();
      return { id, token: secret };
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      throw new GatewayError('credential_unavailable', {
        detail: 'The stored platform token cannot be read.',
        internal: error.message,
        cause: error,
      });
    }
  }

  async refused(id: string): Promise<boolean> {
    const recovered = await this.#recover(id);
    if (!recovered) this.options.evidence.note(id, 'refused');
    return recovered;
  }

  why(): Pick<GatewayErrorOptions, 'detail' | 'help'> {
    const { keeper, evidence, clock } = this.options;
    const { active } = keeper.vault();
    const nowMs = clock.now();
    if (active === null) return { detail: 'The gateway has no platform token.', help: NEW_TOKEN };
    if (isOver(active, nowMs))
      return {
        detail: `The platform token has been expired${since(active.expiresAt, nowMs)}.`,
        help: NEW_TOKEN,
      };
    if (evidence.proof() !== 'refused') return {};
    return { detail: `The platform refuses the token${since(active.refusedAt, nowMs)}.`, help: NEW_TOKEN };
  }

  accepted(id: string): void {
    this.options.evidence.note(id, 'accepted');
  }

  /** Recovers if no token is active. @returns whether one is active now */
  ensure(): Promise<boolean> {
    return this.#recover(null);
  }

  #activeId(): string | null {
    return this.options.keeper.vault().active?.id ?? null;
  }

  /** @param refusedId a token that the platform refuses before its expiry; the same below */
  #isUsable({ active }: Vault, refusedId: string | null): boolean {
    return active !== null && active.id !== refusedId && !isOver(active, this.options.clock.now());
  }

  #isRecovered(refusedId: string | null): boolean {
    return this.#isUsable(this.options.keeper.vault(), refusedId);
  }

  #isCoolingDown(): boolean {
    const { clock } = this.options;
    const cooldown = this.#cooldown;
    return (
      cooldown !== null && clock.monotonicMs() < cooldown.untilMs && cooldown.tokenId === this.#activeId()
    );
  }

  /** @returns whether the active token is usable now */
  async #recover(refusedId: string | null): Promise<boolean> {
    if (this.#isRecovered(refusedId)) return true;
    if (this.#isCoolingDown()) return false;
    this.#running ??= this.#leadOrWait(refusedId)
      .catch((error: unknown) => {
        this.options.logger.error({ err: error }, 'failed to recover the platform credential');
      })
      .finally(() => {
        this.#running = null;
      });
    await this.#running;
    // That may have been the recovery of another token.
    return this.#isRecovered(refusedId);
  }

  async #leadOrWait(refusedId: string | null): Promise<void> {
    const isLeader = await this.#claimLead(refusedId);
    let recovered = false;
    try {
      recovered = isLeader ? await this.#recoverAsLeader(refusedId) : this.#isRecovered(refusedId);
    } finally {
      try {
        // Before another replica may lead, so that it finds the cooldown.
        if (!recovered) await this.#startCooldown();
      } finally {
        await this.#releaseLead();
      }
    }
  }

  /** @returns false if another replica has recovered, or has not finished after a long wait. @throws StoreUnavailable */
  async #claimLead(refusedId: string | null): Promise<boolean> {
    const { leases, clock } = this.options;
    const endsAtMs = clock.monotonicMs() + WAIT_MS;
    let failures = 0;
    for (;;) {
      try {
        const [mine] = await leases.claim([LEAD_KEY], this.#owner, LEAD_MS);
        if (mine === true) return true;
        failures = 0;
      } catch (error) {
        failures += 1;
        // A lease that was granted after a timeout is ours: the next try finds it.
        if (failures === CLAIM_TRIES) {
          this.#pauseForStore();
          // The lease may be granted even later.
          void this.#releaseLead();
          throw error;
        }
      }
      if (clock.monotonicMs() >= endsAtMs) return false;
      await sleep(WAIT_STEP_MS);
      if (this.#isRecovered(refusedId)) return false;
    }
  }

  async #releaseLead(): Promise<void> {
    const { leases, logger } = this.options;
    await leases.release([LEAD_KEY], this.#owner).catch((error: unknown) => {
      logger.warn({ err: error }, 'failed to release the lease for recovery; it expires by itself');
    });
  }

  async #recoverAsLeader(refusedId: string | null): Promise<boolean> {
    const { leases, keeper, logger } = this.options;
    const renewal = startTicks(() => {
      leases.renew([LEAD_KEY], this.#owner, LEAD_MS).catch((error: unknown) => {
        logger.warn({ err: error }, 'failed to renew the lease for recovery; another replica may take over');
      });
    }, RENEW_EVERY_MS);
    try {
      // Another replica may have recovered, without its message having arrived.
      await keeper.refresh();
      if (this.#isRecovered(refusedId)) return true;
      return !(await this.#isCoolingDownElsewhere()) && (await this.#replaceToken(refusedId));
    } finally {
      stopTicks(renewal);
    }
  }

  /** @returns whether the active token is usable now */
  async #replaceToken(refusedId: string | null): Promise<boolean> {
    const { keeper, canMint, clock, logger } = this.options;
    const vault = keeper.vault();
    const { active, pending } = vault;
    if (!mayRecover(vault, clock.now())) {
      logger.error('platform still rejects tokens; backing off before the next attempt');
      return false;
    }
    logger.warn({ tokenId: active?.id ?? null }, 'replacing the platform token');
    if (pending !== null && pending.verifiedAt !== null && !isExpired(pending, clock.now()))
      await this.#activatePending(refusedId, pending.id);
    else if (canMint) await this.#mint(refusedId);
    if (this.#isRecovered(refusedId)) return true;
    const { previous } = keeper.vault();
    if (previous === null || previous.refusedAt !== null) return false;
    await this.#move(refusedId, (now) =>
      now.previous?.id === previous.id ? rollback(noteRecovery(now, clock.now()), false, clock.now()) : now,
    );
    return this.#isRecovered(refusedId);
  }

  async #mint(refusedId: string | null): Promise<void> {
    try {
      // Not compared with the refused token, which sees nothing.
      const id = await this.options.rotation.prepare(null, false, GATEWAY_ACTOR, 'nothing');
      // Null: the platform issued the active token again, which helps only if it had expired.
      if (id !== null) await this.#activatePending(refusedId, id);
    } catch (error) {
      this.options.logger.error({ err: error }, 'failed to mint a platform token');
    }
  }

  async #activatePending(refusedId: string | null, id: string): Promise<void> {
    const { clock } = this.options;
    await this.#move(refusedId, (vault) =>
      vault.pending?.id === id ? activate(noteRecovery(vault, clock.now()), false, clock.now()) : vault,
    );
  }

  /** Changes the vault only while its active token is unusable. */
  async #move(refusedId: string | null, step: (vault: Vault) => Vault): Promise<void> {
    await this.options.keeper.move('token.recover', GATEWAY_ACTOR, (vault) =>
      this.#isUsable(vault, refusedId) ? vault : step(vault),
    );
  }

  /** Whether a recovery of another replica failed recently; false if the store does not answer. */
  async #isCoolingDownElsewhere(): Promise<boolean> {
    const { leases, logger } = this.options;
    const key = cooldownKey(this.#activeId());
    const [isFree] = await leases.claim([key], this.#owner, 1).catch((error: unknown) => {
      logger.warn({ err: error }, 'failed to read the credential cooldown of other replicas; recovering');
      return [true];
    });
    return isFree !== true;
  }

  async #startCooldown(): Promise<void> {
    const { leases, clock, logger } = this.options;
    const tokenId = this.#activeId();
    const lastMs = this.#lastCooldownMs(tokenId);
    const lastsMs = lastMs === null ? FIRST_COOLDOWN_MS : Math.min(lastMs * 2, MAX_COOLDOWN_MS);
    this.#cooldown = { tokenId, lastsMs, untilMs: clock.monotonicMs() + lastsMs };
    await leases.claim([cooldownKey(tokenId)], this.#owner, lastsMs).catch((error: unknown) => {
      logger.warn({ err: error }, 'failed to announce the credential cooldown to other replicas');
    });
  }

  /** A short cooldown of this replica alone, as the token may be valid. */
  #pauseForStore(): void {
    const tokenId = this.#activeId();
    const lastsMs = this.#lastCooldownMs(tokenId) ?? FIRST_COOLDOWN_MS / 2;
    const untilMs = this.options.clock.monotonicMs() + FIRST_COOLDOWN_MS;
    this.#cooldown = { tokenId, lastsMs, untilMs };
  }

  /** Duration of this token's last cooldown; null if it ended long ago. */
  #lastCooldownMs(tokenId: string | null): number | null {
    const last = this.#cooldown;
    if (last === null || last.tokenId !== tokenId) return null;
    return this.options.clock.monotonicMs() - last.untilMs < MAX_COOLDOWN_MS ? last.lastsMs : null;
  }
}
