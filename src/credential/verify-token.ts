/** Proof of a token before it is put to use: a call that the platform answers, and that shows as much as before. */
import { GatewayError } from '../errors.js';
import type { ProbeResult } from './probe.js';
import type { Token } from './vault.js';
import type { SeesLess } from './visibility-check.js';

/** `internal` of a verification that failed because the platform refused the token, not for lack of proof. */
export const REFUSED = 'refused by the platform';

export interface ProbeTargets {
  /** Calls that prove a token, to be tried in turn. */
  readonly targets: readonly string[];
  /** False when the gateway chose them: then they prove, and disprove nothing but by a refusal of the token. */
  readonly configured: boolean;
}

export interface VerifyOptions {
  readonly probeTargets: () => Promise<ProbeTargets>;
  readonly probe: (target: string, secret: string) => Promise<ProbeResult>;
  readonly hasReducedAccess: SeesLess;
}

/**
 * One call that the platform answers is proof enough, and one that it refuses is proof of the contrary.
 * @throws GatewayError `verification_failed`
 */
export async function proveToken(token: Token, { probeTargets, probe }: VerifyOptions): Promise<void> {
  let doubt = 'there is no call to prove it with yet; set PLATFORM_PROBE';
  const { targets, configured } = await probeTargets();
  for (const target of targets) {
    const { outcome, reason } = await probe(target, token.secret);
    if (outcome === 'accepted') return;
    if (outcome === 'refused')
      throw unverified('The platform refused the token; the active one stays.', REFUSED);
    doubt = reason;
  }
  // Fresh from the token request it counts as proven: the platform itself handed it out just now.
  if (!configured && token.source === 'minted') return;
  throw unverified(
    `The token could not be proven (${doubt}); the active one stays. Repeat with "force": true to activate it unverified.`,
  );
}

/**
 * What the active token cannot see any more is held against nobody: see `SeesLess`.
 * @throws GatewayError `verification_failed`
 */
export async function compareWithActive(
  token: Token,
  active: Token | null,
  { hasReducedAccess }: VerifyOptions,
): Promise<void> {
  if (active === null || active.id === token.id) return;
  const less = await hasReducedAccess(token.secret, active.secret);
  if (less === null) return;
  throw unverified(
    `The token sees less than the active one: ${less}. The active one stays; repeat with "force": true if that is meant.`,
  );
}

function unverified(detail: string, internal?: string): GatewayError {
  return new GatewayError('verification_failed', { detail, ...(internal === undefined ? {} : { internal }) });
}
