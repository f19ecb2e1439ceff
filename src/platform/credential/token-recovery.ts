/**
 * When the platform refuses the active token, or its time is over, one replica puts another in its place: the
 * pending one if it is verified, else a freshly minted one, else the previous one. The others wait for it.
 */
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { sleep, startTicks, stopTicks } from '../../lib/time.js';
import type { Leases } from '../../store/port.js';
import { GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { ActiveToken, TokenSource } from '../slot.js';
import type { Evidence } from './evidence.js';
import type { VaultKeeper } from './keeper.js';
import type { Rotation } from './rotation.js';
import { SealError } from './seal.js';
import { activate, isExpired, isOver, mayRecover, noteRecovery, rollback, type Vault } from './vault.js';

// After a recovery that failed, the token is left alone for a while by all replicas: longer each time.

/** Held by whoever failed, for as long as nobody should try again. */
const leaseKey = (id: string | null) => `lease:{credential}:rest:${id ?? 'none'}`;
const FIRST_MS = 2000;
const MAX_MS = 60_000;

interface CooldownOptions {
  readonly leases: Leases;
  /** Of the lease. */
  readonly owner: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A token nothing could be put in place of, and until when that is not tried again. */
interface Current {
  readonly id: string | null;
  readonly untilMs: number;
  readonly lastsMs: number;
}

/** By the id of the active token; null where there is none. */
function createCooldown({ leases, owner, clock, logger }: CooldownOptions) {
  let current: Current | null = null;
  const lastOf = (id: string | null, nowMs: number): number | null =>
    current !== null && current.id === id && nowMs - current.untilMs < MAX_MS ? current.lastsMs : null;

  return {
    /** Whether a recovery failed here a short time ago. */
    isOn: (id: string | null): boolean =>
      current !== null && clock.monotonicMs() < current.untilMs && current.id === id,
    /** Seconds until it ends; at least one. */
    leftSeconds: () => Math.max(1, Math.ceil(((current?.untilMs ?? 0) - clock.monotonicMs()) / 1000)),
    /** Whether one has failed in another replica a short time ago, as far as the store says. */
    async isOnElsewhere(id: string | null): Promise<boolean> {
      const [isFree] = await leases.claim([leaseKey(id)], owner, 1).catch((error: unknown) => {
        logger.warn(
          { err: error },
          'whether another replica failed to recover the token is not known; trying',
        );
        return [true];
      });
      return isFree !== true;
    },
    async start(id: string | null): Promise<void> {
      const nowMs = clock.monotonicMs();
      const lastMs = lastOf(id, nowMs);
      const lastsMs = lastMs === null ? FIRST_MS : Math.min(lastMs * 2, MAX_MS);
      current = { id, lastsMs, untilMs: nowMs + lastsMs };
      await leases.claim([leaseKey(id)], owner, lastsMs).catch((error: unknown) => {
        logger.warn({ err: error }, 'other replicas could not be told to rest');
      });
    },
    /** Short, and here alone: the store did not answer, which says nothing of the token. */
    pause(id: string | null): void {
      const nowMs = clock.monotonicMs();
      current = { id, lastsMs: lastOf(id, nowMs) ?? FIRST_MS / 2, untilMs: nowMs + FIRST_MS };
    },
  };
}

// Puts another token in the place of one that is refused, or whose time is over: the pending one if it is verified, else
// a freshly minted one, else the previous one.

interface ReplaceTokenOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly canMint: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** @param refusedId the active token counts as unusable when it is this one, too */
function isUnusable({ active }: Vault, refusedId: string | null, nowMs: number): boolean {
  return active === null || active.id === refusedId || isOver(active, nowMs);
}

/** @returns whether the active token is a usable one now */
async function replaceToken(refusedId: string | null, options: ReplaceTokenOptions): Promise<boolean> {
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

// One replica recovers the credential at a time; the others wait for it.

const LEASE_KEY = 'lease:{credential}:recover';
/** How long a replica waits for one that recovers, and lives. */
const WAIT_MS = 30_000;
const WAIT_STEP_MS = 100;
/** How often in a row the store may fail to say who leads: once it may only be late. */
const CLAIM_TRIES = 3;
/** How long a dead holder keeps others from following. */
const HOLD_MS = 4000;
const RENEW_EVERY_MS = 1000;

interface RecoveryLeadOptions {
  readonly leases: Leases;
  readonly owner: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What one replica does, and the others wait for. */
interface LedWork {
  readonly isDone: () => boolean;
  /** @returns whether it is done */
  readonly attempt: () => Promise<boolean>;
  /** Called where it was not done, by this replica or in time by another one. */
  readonly failed: () => Promise<void>;
  /** Called where the store did not say who is to do it: nobody was asked for anything. */
  readonly storeAway: () => void;
}

/** @returns a function that does the work, or waits for the replica that does; and says whether it is done */
function createRecoveryLead({
  leases,
  owner,
  clock,
  logger,
}: RecoveryLeadOptions): (work: LedWork) => Promise<boolean> {
  async function claim(isDone: () => boolean): Promise<boolean> {
    const endsAtMs = clock.monotonicMs() + WAIT_MS;
    let failures = 0;
    for (;;) {
      try {
        const [mine] = await leases.claim([LEASE_KEY], owner, HOLD_MS);
        if (mine === true) return true;
        failures = 0;
      } catch (error) {
        failures += 1;
        // What is granted late is ours as well, and is found so by the next try.
        if (failures === CLAIM_TRIES) throw error;
      }
      if (clock.monotonicMs() >= endsAtMs) return false;
      await sleep(WAIT_STEP_MS);
      if (isDone()) return false;
    }
  }

  async function whileHolding(attempt: () => Promise<boolean>): Promise<boolean> {
    const beat = startTicks(() => {
      leases.renew([LEASE_KEY], owner, HOLD_MS).catch((error: unknown) => {
        logger.warn({ err: error }, 'failed to renew the lease for recovery; another replica may take over');
      });
    }, RENEW_EVERY_MS);
    try {
      return await attempt();
    } finally {
      stopTicks(beat);
    }
  }

  async function release(): Promise<void> {
    await leases.release([LEASE_KEY], owner).catch((error: unknown) => {
      logger.warn({ err: error }, 'the lease for recovery could not be released; it ends by itself');
    });
  }

  return async function lead({ isDone, attempt, failed, storeAway }) {
    const isMine = await claim(isDone).catch((error: unknown) => {
      storeAway();
      // It may be granted late. Whoever needs the token does not wait for that too.
      void release();
      throw error;
    });
    let done = false;
    try {
      done = isMine ? await whileHolding(attempt) : isDone();
    } finally {
      try {
        // Before another may lead, so that it finds the rest.
        if (!done) await failed();
      } finally {
        await release();
      }
    }
    return done;
  };
}

interface TokenRecoveryOptions extends ReplaceTokenOptions {
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
