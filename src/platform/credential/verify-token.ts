/** Proof of a token before it is put to use: a call that the platform answers, and that shows as much as before. */
import { GatewayError } from '../../errors.js';
import type { ProbeResult } from './probe.js';
import type { Token } from './vault.js';
import type { CompareSight } from './visibility-check.js';

/** `internal` of a verification that failed because the platform refused the token, not for lack of proof. */
export const REFUSED = 'refused by the platform';

export interface ProbeTargets {
  /** Calls that prove a token, to be tried in turn. */
  readonly targets: readonly string[];
  /** False when the gateway chose them: then they prove, and disprove nothing but by a refusal of the token. */
  readonly configured: boolean;
  /** Calls that a working token should be able to make, though none was ever made: tried when nothing else tells. */
  readonly guesses: readonly string[];
}

export interface VerifyOptions {
  readonly probeTargets: () => Promise<ProbeTargets>;
  readonly probe: (target: string, secret: string) => Promise<ProbeResult>;
  readonly compareSight: CompareSight;
}

/** What the platform said of a token, and what was asked. */
export interface TokenProof extends ProbeResult {
  /** What was asked last, below the base URL; null: there was nothing to ask. */
  readonly target: string | null;
}

/** Asks in turn until the platform accepts the token, or refuses it. */
export async function askPlatform(
  secret: string,
  targets: readonly string[],
  probe: VerifyOptions['probe'],
): Promise<TokenProof> {
  let proof: TokenProof = NOTHING_TO_ASK;
  for (const target of targets) {
    proof = { ...(await probe(target, secret)), target };
    if (proof.outcome !== 'unknown') break;
  }
  return proof;
}

const NOTHING_TO_ASK: TokenProof = {
  outcome: 'unknown',
  reason: 'there is no call to prove it with; set PLATFORM_PROBE',
  target: null,
  platformNowMs: null,
};

export interface ProveOptions extends VerifyOptions {
  readonly active: Token | null;
  /** Whether the platform may be asked for what nobody has asked for yet. */
  readonly mayGuess: boolean;
}

/**
 * One call that the platform answers is proof enough, and one that it refuses is proof of the contrary.
 * @returns the call, and what came of it
 * @throws GatewayError `verification_failed`
 */
export async function proveToken(token: Token, options: ProveOptions): Promise<TokenProof> {
  const { probeTargets, probe, active, mayGuess } = options;
  const { targets, configured, guesses } = await probeTargets();
  // Fresh from the token request it counts as proven where nothing tells: the platform itself handed it out just now.
  const isTrusted = !configured && token.source === 'minted';
  const all = mayGuess && !configured && !isTrusted ? [...targets, ...guesses] : targets;
  const proof = await askPlatform(token.secret, all, probe);
  const { outcome, reason } = proof;
  if (outcome === 'accepted' || (outcome === 'unknown' && isTrusted)) return proof;
  const now = active === null ? 'no token is active' : 'the active one stays';
  if (outcome === 'refused')
    throw unverified(
      `The platform refused the token; ${now}.`,
      "Copy the token from the platform's dashboard once more, whole, and give that.",
      REFUSED,
    );
  throw unverified(
    `The token could not be proven (${reason}); ${now}.`,
    'Repeat when the platform answers, with PLATFORM_PROBE set to a cheap call that works, or with "force": true to activate it unproven.',
  );
}

/**
 * What the active token cannot see any more is held against nobody: see `CompareSight`.
 * @returns how many reports were compared
 * @throws GatewayError `verification_failed`
 */
export async function compareWithActive(
  token: Token,
  active: Token | null,
  { compareSight }: VerifyOptions,
): Promise<number> {
  if (active === null || active.id === token.id) return 0;
  const { compared, less } = await compareSight(token.secret, active.secret);
  if (less === null) return compared;
  throw unverified(
    `The token sees less than the active one: ${less}. The active one stays.`,
    'Give a token of the same account, or repeat with "force": true if that is meant.',
  );
}

function unverified(detail: string, help: string, internal?: string): GatewayError {
  return new GatewayError('verification_failed', {
    detail,
    help,
    ...(internal === undefined ? {} : { internal }),
  });
}
