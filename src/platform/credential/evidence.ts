/**
 * What the platform last said of the active token: an answer, or a refusal. It stands in the vault, so that every
 * process tells the same and a restart forgets nothing, and it changes by what the platform says alone, never by time.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { VaultKeeper } from './keeper.js';
import { SealError } from './seal.js';
import { markAccepted, markRefused, type Token } from './vault.js';

type Said = 'accepted' | 'refused';
/** unproven: it was neither verified, nor has the platform answered to it yet. */
export type ProofStatus = Said | 'unproven';

export interface Evidence {
  /** Of the active token; `unproven` without one. @throws SealError */
  proof(): ProofStatus;
  /** The platform answered to this token, or refused it. Cheap enough to be called for every platform call. */
  note(tokenId: string, said: Said): void;
  /** Writes what is new into the vault, for the other processes. @throws StoreUnavailable, SealError */
  flush(): Promise<void>;
}

export interface EvidenceOptions {
  readonly keeper: VaultKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createEvidence({ keeper, clock, logger }: EvidenceOptions): Evidence {
  /** What this process knows and the vault does not. */
  let news: { readonly tokenId: string; readonly said: Said } | null = null;

  function proofStatusOf(active: Token | null): ProofStatus {
    if (active === null) return 'unproven';
    if (news?.tokenId === active.id) return news.said;
    if (active.refusedAt !== null) return 'refused';
    return active.verifiedAt === null ? 'unproven' : 'accepted';
  }

  return {
    proof: () => proofStatusOf(keeper.vault().active),
    note(tokenId, said) {
      const active = activeIn(keeper);
      // What is said of a token that was replaced meanwhile says nothing of the one in its place.
      if (active?.id === tokenId && proofStatusOf(active) !== said) news = { tokenId, said };
    },
    async flush() {
      if (news === null) return;
      const written = news;
      const { tokenId, said } = written;
      const mark = said === 'accepted' ? markAccepted : markRefused;
      let marked = false;
      await keeper.move(`token.${said}`, GATEWAY_ACTOR, (vault) => {
        const after = mark(vault, tokenId, clock.now());
        marked = after !== vault;
        return after;
      });
      if (news === written) news = null;
      if (marked && said === 'refused') logger.error({ tokenId }, REFUSED);
    },
  };
}

const REFUSED =
  'the platform refuses the active token: cached reports are served, all else is answered with 503 ' +
  'credential_unavailable; rotate to another token';

/** @returns null also when the vault does not open: that is told where the token is needed */
function activeIn(keeper: VaultKeeper): Token | null {
  try {
    return keeper.vault().active;
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}
