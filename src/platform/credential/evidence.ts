/**
 * What the platform last said of the active token: an answer, or a refusal. It is stored in the vault, so every process
 * knows the same and a restart forgets nothing. Only the platform's word changes it, never time.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { oneAtATime } from '../../lib/repeat.js';
import { GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { VaultKeeper } from './keeper.js';
import { SealError } from './seal.js';
import { markAccepted, markRefused, type Token } from './vault.js';

type Said = 'accepted' | 'refused';
/** unproven: it was not verified, and the platform has not answered to it yet. */
export type ProofStatus = Said | 'unproven';

interface News {
  readonly tokenId: string;
  readonly said: Said;
}

export type Evidence = ReturnType<typeof createEvidence>;

export function createEvidence(keeper: VaultKeeper, clock: Clock, logger: Logger) {
  /** What this process knows and the vault does not. */
  let news: News | null = null;

  function proofOf(active: Token | null): ProofStatus {
    if (active === null) return 'unproven';
    if (news?.tokenId === active.id) return news.said;
    if (active.refusedAt !== null) return 'refused';
    return active.verifiedAt === null ? 'unproven' : 'accepted';
  }

  const flush = oneAtATime(async (): Promise<void> => {
    // The platform may say something else meanwhile: that is written as well, not left to the next job.
    while (news !== null) await write(news);
  });

  async function write(written: News): Promise<void> {
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
  }

  return {
    /** Of the active token; `unproven` without one. @throws SealError */
    proof: (): ProofStatus => proofOf(keeper.vault().active),
    /** The platform answered to this token, or refused it. Cheap enough to be called for every platform call. */
    note(tokenId: string, said: Said): void {
      const active = activeIn(keeper);
      // The platform's word on a token that was replaced meanwhile says nothing about the new one.
      if (active?.id !== tokenId || proofOf(active) === said) return;
      news = { tokenId, said };
      // At once, for this process may be killed. A job flushes again and reports what fails.
      flush().catch(() => {});
    },
    /** Writes what is new into the vault, for the other processes. @throws StoreUnavailable, SealError */
    flush,
  };
}

const REFUSED =
  'the platform refuses the active token: cached reports are served, everything else gets 503 ' +
  'credential_unavailable; rotate to another token';

/** @returns null also when the vault does not open: that is reported where the token is needed */
function activeIn(keeper: VaultKeeper): Token | null {
  try {
    return keeper.vault().active;
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}
