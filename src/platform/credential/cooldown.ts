/** After a recovery that failed, the token is left alone for a while by all replicas: longer each time. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import type { Leases } from '../../store/port.js';

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
export function createCooldown({ leases, owner, clock, logger }: CooldownOptions) {
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
