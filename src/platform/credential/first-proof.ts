/**
 * Verifies the token of a gateway that has just started, if no platform call has proven it yet: by one call of one process.
 * The call comes some seconds after the start, because a first report also proves the token.
 */
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import type { Leases } from '../../store/port.js';
import type { VaultKeeper } from './keeper.js';
import type { TokenProof } from './verify-token.js';

/** Time for a first report. */
const WAIT_MS = 2000;
/** Then the token stays unproven, which is a fault. No other process calls within this time. */
const OVER_MS = 30_000;

interface FirstProofOptions {
  readonly keeper: Pick<VaultKeeper, 'vault'>;
  readonly isUnproven: () => boolean;
  /** Whether there is a report to verify it with, as far as this process knows. */
  readonly canAsk: () => boolean;
  /** Makes one call. Its `target` is null if there is none to make. */
  readonly prove: () => Promise<TokenProof>;
  readonly leases: Leases;
  readonly clock: Pick<Clock, 'now'>;
}

/** What an unproven token waits for. `report`: no report is known to verify it with; `nothing`: the call proved nothing. */
export type AwaitedProof = 'call' | 'report' | 'nothing';

export function createFirstProof({ keeper, isUnproven, canAsk, prove, leases, clock }: FirstProofOptions) {
  const owner = randomId();
  /** The active token at the start, and since when it can be verified. */
  let id: string | undefined;
  let sinceMs = clock.now();
  let isInVain = false;

  const isOpen = () => keeper.vault().active?.id === id && isUnproven();

  return {
    /** Starts with the active token. @param isAsked whether a call with it was made already */
    begin(isAsked: boolean): void {
      [id, sinceMs, isInVain] = [keeper.vault().active?.id, clock.now(), isAsked];
    },
    /** Job of every process: the wait begins when there is a report to verify it with. */
    async look(): Promise<void> {
      if (isOpen() && !canAsk()) sinceMs = clock.now();
    },
    /** Job of the leader. @param mayCall whether calls are allowed, and none is running */
    async run(mayCall: () => boolean): Promise<void> {
      if (isInVain || id === undefined || !isOpen() || !canAsk()) return;
      const waitedMs = clock.now() - sinceMs;
      if (waitedMs < WAIT_MS || waitedMs > OVER_MS || !mayCall()) return;
      // Against a former leader.
      const [mine] = await leases.claim([`lease:{credential}:proof:${id}`], owner, OVER_MS);
      if (mine !== true) return;
      const { target, outcome } = await prove();
      isInVain = target !== null && outcome === 'unknown';
    },
    awaited(): AwaitedProof {
      if (isInVain || keeper.vault().active?.id !== id) return 'nothing';
      if (!canAsk()) return 'report';
      return clock.now() - sinceMs > OVER_MS ? 'nothing' : 'call';
    },
  };
}
