/** Proof of a token before it is put to use: a call that the platform answers, and that shows as much as before. */
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { timeoutSignal } from '../../lib/time.js';
import { single } from '../interpret.js';
import { readBody } from '../read-body.js';
import type { ProbeOptions, ProbeResult } from './probe.js';
import type { ReferenceReports, StoredReferenceReport } from './reference-reports.js';
import type { Token } from './vault.js';

// Whether a token sees as much as the active one: the same final reports, asked with either.

export interface SightOptions extends Omit<ProbeOptions, 'nowMs' | 'saysError'> {
  readonly referenceReports: Pick<ReferenceReports, 'list'>;
  /** The rows in an answer to a reference's report; null when they cannot be told. */
  readonly countRows: (body: Buffer, reference: StoredReferenceReport) => number | null;
  readonly maxAnswerBytes: number;
}

/** What came of asking final reports again. */
interface Sight {
  /** How many reports the new token answered with rows that could be counted. */
  readonly compared: number;
  /** What is seen less, for people; null when nothing is. */
  readonly less: string | null;
}

/**
 * A final report that has fewer rows than it had is asked with the active token, too: only when that one still sees
 * more is the difference the token's. Where the active one sees nothing any more, nothing can be held against.
 */
type CompareSight = (secret: string, activeSecret: string) => Promise<Sight>;

export function createSight(options: SightOptions): CompareSight {
  return async function compareSight(secret, activeSecret) {
    const referenceReports = await options.referenceReports.list();
    let compared = 0;
    const found = await Promise.all(
      referenceReports.map(async (reference) => {
        const rows = await rowsSeen(reference, secret, options);
        if (rows !== null) compared += 1;
        if (rows === null || rows >= reference.rows) return null;
        const before = await rowsSeen(reference, activeSecret, options);
        if (before === null || before <= rows) return null;
        return `${rows} of ${before} rows of ${reference.target}`;
      }),
    );
    const less = found.filter((one) => one !== null);
    return { compared, less: less.length === 0 ? null : less.join('; ') };
  };
}

/** @returns 0 for a refusal; null when it could not be asked, or its rows could not be told */
async function rowsSeen(
  reference: StoredReferenceReport,
  secret: string,
  options: SightOptions,
): Promise<number | null> {
  const { agent, rules, timeoutMs, maxAnswerBytes, countRows } = options;
  try {
    const { statusCode, headers, body } = await agent.request({
      origin: rules.baseUrl.origin,
      path: rules.baseUrl.pathname.replace(/\/$/, '') + reference.target,
      method: 'GET',
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${secret}`,
        'x-request-id': randomId(),
      },
      signal: timeoutSignal(timeoutMs),
    });
    const chunks = await readBody(body, single(headers['content-encoding']), maxAnswerBytes);
    if ([401, 403, 404].includes(statusCode)) return 0;
    return statusCode === 200 ? countRows(Buffer.concat(chunks), reference) : null;
  } catch {
    // A call that fails says nothing of the token.
    return null;
  }
}

/** `internal` of a verification that failed because the platform refused the token, not for lack of proof. */
export const REFUSED = 'refused by the platform';

interface ProbeTargets {
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

interface ProveOptions extends VerifyOptions {
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
