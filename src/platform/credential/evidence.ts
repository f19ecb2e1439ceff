/**
 * Whether the platform last accepted or refused the active token. Stored in the vault, for all processes and across restarts.
 * Only an answer of the platform changes it, never time.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { oneAtATime } from '../../lib/repeat.js';
import { GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { VaultKeeper } from './keeper.js';
import { SealError } from './seal.js';
import { markAccepted, markRefused, type Token } from './vault.js';

type Outcome = 'accepted' | 'refused';
/** unproven: not verified, and not used for a call yet */
export type ProofStatus = Outcome | 'unproven';

interface Observed {
  readonly tokenId: string;
  readonly outcome: Outcome;
}

export type Evidence = ReturnType<typeof createEvidence>;

export function createEvidence(keeper: VaultKeeper, clock: Clock, logger: Logger) {
  /** Not written to the vault yet. */
  let unwritten: Observed | null = null;

  function proofOf(active: Token | null): ProofStatus {
    if (active === null) return 'unproven';
    if (unwritten?.tokenId === active.id) return unwritten.outcome;
    if (active.refusedAt !== null) return 'refused';
    return active.verifiedAt === null ? 'unproven' : 'accepted';
  }

  const flush = oneAtATime(async (): Promise<void> => {
    // Including a change during the write.
    while (unwritten !== null) await write(unwritten);
  });

  async function write(observed: Observed): Promise<void> {
    const { tokenId, outcome } = observed;
    const mark = outcome === 'accepted' ? markAccepted : markRefused;
    let marked = false;
    await keeper.move(`token.${outcome}`, GATEWAY_ACTOR, (vault) => {
      const after = mark(vault, tokenId, clock.now());
      marked = after !== vault;
      return after;
    });
    if (unwritten === observed) unwritten = null;
    if (marked && outcome === 'refused') logger.error({ tokenId }, REFUSED);
  }

  return {
    /** Of the active token; `unproven` without one. @throws SealError */
    proof: (): ProofStatus => proofOf(keeper.vault().active),
    /** Cheap enough for every platform call. Ignored if another token is active now. */
    note(tokenId: string, outcome: Outcome): void {
      const active = activeIn(keeper);
      if (active?.id !== tokenId || proofOf(active) === outcome) return;
      unwritten = { tokenId, outcome };
      // At once, as this process may be killed. A job flushes again and reports a failure.
      flush().catch(() => {});
    },
    /** @throws StoreUnavailable, SealError */
    flush,
  };
}

const REFUSED =
  'the platform refuses the active token: cached reports are served, everything else gets 503 ' +
  'credential_unavailable; rotate to another token';

/** Null also if the vault cannot be opened, which is reported where the token is needed. */
function activeIn(keeper: VaultKeeper): Token | null {
  try {
    return keeper.vault().active;
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}
