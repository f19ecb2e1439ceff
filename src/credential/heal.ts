/**
 * When the platform refuses the active token, or its time is over, one replica puts another in its place: the
 * pending one if it is verified, else a freshly minted one, else the previous one. The others wait for it.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { GatewayError } from '../errors.js';
import type { ActiveToken, TokenSource } from '../platform/token-source.js';
import type { Leases } from '../store/port.js';
import { GATEWAY_ACTOR } from '../telemetry/audit.js';
import type { Evidence } from './evidence.js';
import { takeHold, whileHolding } from './hold-lease.js';
import type { VaultKeeper } from './keeper.js';
import type { Rotation } from './rotation.js';
import { SealError } from './seal.js';
import { activate, isExpired, isOver, mayHeal, noteHealing, rollback, type Vault } from './vault.js';

const LEASE_KEY = 'lease:{credential}:heal';
/** Held by whoever failed, for as long as nobody should try again. */
const restKey = (id: string | null) => `lease:{credential}:rest:${id ?? 'none'}`;
/** How long a replica waits for one that heals, and lives. */
const WAIT_MS = 30_000;
const WAIT_STEP_MS = 100;
const FIRST_BACKOFF_MS = 2000;
const MAX_BACKOFF_MS = 60_000;

export interface HealerOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly evidence: Evidence;
  readonly canMint: boolean;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Healer extends TokenSource {
  /** The active token; heals first when there is none, or its time is over. */
  current(): Promise<ActiveToken>;
  /** Makes sure there is an active token, minting one if need be. @returns whether there is */
  ensure(): Promise<boolean>;
}

/** A token nothing could be put in place of, and until when that is not tried again. */
interface Rest {
  readonly id: string | null;
  readonly untilMs: number;
  readonly backoffMs: number;
}

export function createHealer(options: HealerOptions): Healer {
  const { keeper, evidence, leases, clock, logger } = options;
  const owner = randomUUID();
  const hold = { leases, key: LEASE_KEY, owner, logger };
  const replace = createReplacement(options);
  let running: Promise<boolean> | null = null;
  let rest: Rest | null = null;

  const activeId = (): string | null => keeper.vault().active?.id ?? null;
  const isBad = (refusedId: string | null): boolean => isUnusable(keeper.vault(), refusedId, clock.now());
  const resting = (): boolean =>
    rest !== null && clock.monotonicMs() < rest.untilMs && rest.id === activeId();

  async function current(): Promise<ActiveToken> {
    try {
      if (!resting() && isBad(null)) await heal(null);
      if (resting()) throw new GatewayError('credential_unavailable', { retryAfterS: restSeconds() });
      const { id, secret } = keeper.active();
      return { id, token: secret };
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      throw new GatewayError('credential_unavailable', { internal: error.message, cause: error });
    }
  }

  function restSeconds(): number {
    return Math.max(1, Math.ceil(((rest?.untilMs ?? 0) - clock.monotonicMs()) / 1000));
  }

  /** One healing at a time in this process; after a failed one there is a rest, longer each time. */
  async function heal(refusedId: string | null): Promise<boolean> {
    if (!isBad(refusedId)) return true;
    if (resting()) return false;
    running ??= lead(refusedId)
      .catch((error: unknown) => {
        logger.error({ err: error }, 'the platform credential could not be healed');
        return false;
      })
      .finally(() => {
        running = null;
      });
    await running;
    // It may have been the healing of another token.
    return !isBad(refusedId);
  }

  /** Does the healing, or waits for the replica that does. */
  async function lead(refusedId: string | null): Promise<boolean> {
    let healed = false;
    try {
      if (await claimLead(refusedId)) healed = await whileHolding(hold, () => attempt(refusedId));
      else healed = !isBad(refusedId);
    } finally {
      try {
        // Before another may lead, so that it finds the rest.
        if (!healed) await startRest();
      } finally {
        await release();
      }
    }
    return healed;
  }

  async function claimLead(refusedId: string | null): Promise<boolean> {
    const endsAtMs = clock.monotonicMs() + WAIT_MS;
    for (;;) {
      if (await takeHold(hold)) return true;
      if (clock.monotonicMs() >= endsAtMs) return false;
      await sleep(WAIT_STEP_MS);
      if (!isBad(refusedId)) return false;
    }
  }

  async function attempt(refusedId: string | null): Promise<boolean> {
    // Another replica may have healed just now, and its message not have come yet.
    await keeper.refresh();
    if (!isBad(refusedId)) return true;
    const [rested] = await leases.claim([restKey(activeId())], owner, 1);
    return rested === true && replace(refusedId);
  }

  async function startRest(): Promise<void> {
    const id = activeId();
    const nowMs = clock.monotonicMs();
    const repeated = rest !== null && rest.id === id && nowMs - rest.untilMs < MAX_BACKOFF_MS;
    const backoffMs = repeated && rest ? Math.min(rest.backoffMs * 2, MAX_BACKOFF_MS) : FIRST_BACKOFF_MS;
    rest = { id, backoffMs, untilMs: nowMs + backoffMs };
    await leases.claim([restKey(id)], owner, backoffMs).catch((error: unknown) => {
      logger.warn({ err: error }, 'other replicas could not be told to rest');
    });
  }

  async function release(): Promise<void> {
    await leases.release([LEASE_KEY], owner).catch((error: unknown) => {
      logger.warn({ err: error }, 'the lease for healing could not be released; it ends by itself');
    });
  }

  return {
    current,
    async refused(id) {
      const healed = await heal(id);
      if (!healed) evidence.note(id, 'refused');
      return healed;
    },
    accepted: (id) => evidence.note(id, 'accepted'),
    ensure: () => heal(null),
  };
}

function isUnusable({ active }: Vault, refusedId: string | null, nowMs: number): boolean {
  return active === null || active.id === refusedId || isOver(active, nowMs);
}

/** @returns a function that puts another token in the place of the active one, and says whether it could */
function createReplacement(options: HealerOptions): (refusedId: string | null) => Promise<boolean> {
  const { keeper, rotation, clock, logger } = options;

  /** Moves the vault only while it is as bad as it was. */
  const move = (refusedId: string | null, step: (vault: Vault) => Vault): Promise<Vault> =>
    keeper.move('token.heal', GATEWAY_ACTOR, (vault) =>
      isUnusable(vault, refusedId, clock.now()) ? step(vault) : vault,
    );
  const activatePending = (refusedId: string | null, id: string): Promise<Vault> =>
    move(refusedId, (vault) =>
      vault.pending?.id === id ? activate(noteHealing(vault, clock.now()), false, clock.now()) : vault,
    );

  async function mint(refusedId: string | null): Promise<void> {
    try {
      // What is refused sees nothing, so there is nothing to be held against.
      const id = await rotation.prepare(null, false, GATEWAY_ACTOR, 'nothing');
      // Null: the active token once more. Good if its time was over, useless if it was refused.
      if (id !== null) await activatePending(refusedId, id);
    } catch (error) {
      logger.error({ err: error }, 'no token could be minted');
    }
  }

  return async function replace(refusedId) {
    const vault = keeper.vault();
    if (!mayHeal(vault, clock.now())) {
      logger.error('the platform goes on refusing tokens; resting before another is tried');
      return false;
    }
    logger.warn({ tokenId: vault.active?.id ?? null }, 'the platform token has to be replaced');
    const isHealed = () => !isUnusable(keeper.vault(), refusedId, clock.now());
    const { pending } = vault;
    if (pending !== null && pending.verifiedAt !== null && !isExpired(pending, clock.now()))
      await activatePending(refusedId, pending.id);
    else if (options.canMint) await mint(refusedId);
    if (isHealed()) return true;
    const { previous } = keeper.vault();
    if (previous === null || previous.refusedAt !== null) return false;
    await move(refusedId, (now) =>
      now.previous?.id === previous.id ? rollback(noteHealing(now, clock.now()), clock.now()) : now,
    );
    return isHealed();
  };
}
