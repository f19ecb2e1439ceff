/**
 * When the platform refuses the active token, one replica puts another in its place: the pending one if it is
 * verified, else a freshly minted one, else the previous one. The others wait for it.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { GatewayError } from '../errors.js';
import type { ActiveToken, TokenSource } from '../platform/client.js';
import type { Leases } from '../store/port.js';
import { GATEWAY_ACTOR } from '../telemetry/audit.js';
import type { VaultKeeper } from './keeper.js';
import type { Rotation } from './rotation.js';
import { activate, isExpired, rollback } from './vault.js';

const LEASE_KEY = 'lease:{credential}:heal';
const LEASE_MS = 30_000;
const WAIT_STEP_MS = 100;
const FIRST_BACKOFF_MS = 2000;
const MAX_BACKOFF_MS = 60_000;

export interface HealerOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly canMint: boolean;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Healer extends TokenSource {
  /** Makes sure there is an active token, minting one if need be. @returns whether there is */
  ensure(): Promise<boolean>;
  /** Whether the active token was refused and nothing could replace it. */
  readonly refusedNow: boolean;
}

export function createHealer(options: HealerOptions): Healer {
  const { keeper, rotation, leases, clock, logger } = options;
  const owner = randomUUID();
  let running: Promise<boolean> | null = null;
  /** The token nothing could be put in place of, and until when it is not tried again. */
  let given: { readonly id: string | null; readonly untilMs: number; readonly backoffMs: number } | null =
    null;

  const activeId = (): string | null => keeper.vault().active?.id ?? null;
  const resting = (): boolean =>
    given !== null && given.id === activeId() && clock.monotonicMs() < given.untilMs;

  function current(): ActiveToken {
    if (resting()) throw new GatewayError('credential_unavailable', { retryAfterS: restSeconds() });
    const token = keeper.active();
    return { id: token.id, token: token.secret };
  }

  function restSeconds(): number {
    return Math.max(1, Math.ceil(((given?.untilMs ?? 0) - clock.monotonicMs()) / 1000));
  }

  /** One healing at a time in this process; a failed one rests, longer each time. */
  function heal(id: string | null): Promise<boolean> {
    if (activeId() !== id) return Promise.resolve(true);
    if (resting()) return Promise.resolve(false);
    running ??= healOnce(id)
      .catch((error: unknown) => {
        logger.error({ err: error }, 'the platform credential could not be healed');
        return false;
      })
      .then((healed) => {
        given = healed ? null : rest(id);
        return healed;
      })
      .finally(() => {
        running = null;
      });
    return running;
  }

  function rest(id: string | null) {
    const backoffMs = given?.id === id ? Math.min(given.backoffMs * 2, MAX_BACKOFF_MS) : FIRST_BACKOFF_MS;
    return { id, backoffMs, untilMs: clock.monotonicMs() + backoffMs };
  }

  async function healOnce(id: string | null): Promise<boolean> {
    const [mine] = await leases.claim([LEASE_KEY], owner, LEASE_MS);
    if (!mine) return waitForOther(id);
    try {
      if (activeId() !== id) return true;
      logger.warn({ token: id }, 'the platform refused the active token; replacing it');
      return await replace();
    } finally {
      await leases.release([LEASE_KEY], owner);
    }
  }

  async function waitForOther(id: string | null): Promise<boolean> {
    const endsAtMs = clock.monotonicMs() + LEASE_MS;
    while (clock.monotonicMs() < endsAtMs) {
      await sleep(WAIT_STEP_MS);
      if (activeId() !== id) return true;
      const [free] = await leases.claim([LEASE_KEY], owner, WAIT_STEP_MS);
      if (!free) continue;
      await leases.release([LEASE_KEY], owner);
      return activeId() !== id;
    }
    return false;
  }

  async function replace(): Promise<boolean> {
    const { pending, previous } = keeper.vault();
    if (pending?.verifiedAt != null && !isExpired(pending, clock.now())) {
      await keeper.move('token.heal', GATEWAY_ACTOR, (vault) => activate(vault, false));
      return true;
    }
    if (options.canMint && (await mintAndActivate())) return true;
    if (previous !== null && !isExpired(previous, clock.now())) {
      await keeper.move('token.heal', GATEWAY_ACTOR, (vault) => rollback(vault, clock.now()));
      return true;
    }
    return false;
  }

  async function mintAndActivate(): Promise<boolean> {
    try {
      const before = activeId();
      const vault = await rotation.rotate(null, false, GATEWAY_ACTOR);
      // A platform may hand out the very token it just refused.
      return vault.active?.id !== before;
    } catch (error) {
      logger.error({ err: error }, 'no token could be minted');
      return false;
    }
  }

  return {
    current,
    refused: (id) => heal(id),
    get refusedNow() {
      return resting();
    },
    async ensure() {
      const active = keeper.vault().active;
      if (active !== null && !isExpired(active, clock.now())) return true;
      return heal(active?.id ?? null);
    },
  };
}
