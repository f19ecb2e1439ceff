/** Verification of a token before it is activated: the platform accepts it, and it sees the reports that the active one sees. */
import { GatewayError } from '../../errors.js';
import { sentence } from '../../lib/words.js';
import { single } from '../interpret.js';
import { type Asked, type AskOptions, askWithToken, isPage, isTimeout } from '../request.js';
import type { ReferenceReports, StoredReferenceReport } from './reference-reports.js';
import type { Token } from './vault.js';

/** accepted: the platform answered · refused: 401 or a login redirect · unknown: neither */
export interface ProbeResult {
  readonly outcome: 'accepted' | 'refused' | 'unknown';
  /** What the platform did, for people. */
  readonly reason: string;
  /** The platform did not answer in time: another call would wait as long. */
  readonly isSilent: boolean;
  /** Only this report was refused: another one may be answered. */
  readonly isOfReport: boolean;
  /** The platform's `date`, epoch milliseconds; null without one. */
  readonly platformNowMs: number | null;
}

export interface ProbeOptions extends AskOptions {
  /** Whether a body reports an error: platforms reject a token under status 200, too. */
  readonly saysError: (body: Buffer) => boolean;
}

/** Longer bodies are not searched for an error. */
const LONGEST_ERROR_BYTES = 65_536;

/**
 * Makes one cheap GET with a token.
 * @param target path and query below the base URL
 */
export async function probeToken(target: string, token: string, options: ProbeOptions): Promise<ProbeResult> {
  try {
    const asked = await askWithToken({ method: 'GET', target }, token, options);
    const isError = await reportsError(asked, options.saysError);
    const reason = `the platform answered the probe with status ${asked.status}`;
    const date = Date.parse(single(asked.headers.date) ?? '');
    const platformNowMs = Number.isNaN(date) ? null : date;
    const { kind } = asked.verdict;
    const result = (outcome: ProbeResult['outcome'], more = '') => ({
      ...{ outcome, reason: reason + more, isSilent: false, platformNowMs },
      isOfReport: kind === 'rejected' || (isError && !isPage(asked.headers)),
    });
    if (kind === 'credential-refused') return result('refused');
    if (isPage(asked.headers)) return result('unknown', ', but with an HTML page');
    if (isError) return result('unknown', ', but the body reports an error');
    return result(kind === 'answer' ? 'accepted' : 'unknown');
  } catch (error) {
    const isSilent = isTimeout(error);
    const reason = isSilent
      ? `the platform did not answer within ${options.timeoutMs / 1000} s`
      : `the probe failed: ${(error as Error).message}`;
    return { outcome: 'unknown', reason, isSilent, isOfReport: false, platformNowMs: null };
  }
}

/** Reads only short JSON; for anything else the status decides. */
async function reportsError(
  { status, headers, read, drop }: Asked,
  saysError: ProbeOptions['saysError'],
): Promise<boolean> {
  if (status !== 200 || !/json/i.test(single(headers['content-type']) ?? '')) {
    drop();
    return false;
  }
  try {
    return saysError(await read(LONGEST_ERROR_BYTES));
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'upstream_too_large') return false;
    throw error;
  }
}

export interface CompareOptions extends AskOptions {
  readonly referenceReports: Pick<ReferenceReports, 'list'>;
  /** Null: the rows cannot be counted. */
  readonly countRows: (body: Buffer, reference: StoredReferenceReport) => number | null;
  readonly maxAnswerBytes: number;
}

interface Comparison {
  /** Number of reports with countable rows. */
  readonly compared: number;
  /** Rows that the new token does not see, for people; null: none. */
  readonly missing: string | null;
}

/**
 * Fetches the reference reports, which are final, with a new token. One with fewer rows than before is fetched with the active
 * token, too: only rows that the active one sees count as missing.
 */
export async function compareReports(
  secret: string,
  activeSecret: string,
  options: CompareOptions,
): Promise<Comparison> {
  let compared = 0;
  const found = await Promise.all(
    (await options.referenceReports.list()).map(async (reference) => {
      const rows = await rowsSeen(reference, secret, options);
      if (rows !== null) compared += 1;
      if (rows === null || rows >= reference.rows) return null;
      const before = await rowsSeen(reference, activeSecret, options);
      if (before === null || before <= rows) return null;
      return `${rows} of ${before} rows of ${reference.target}`;
    }),
  );
  const missing = found.filter((one) => one !== null);
  return { compared, missing: missing.length === 0 ? null : missing.join('; ') };
}

/** @returns 0 for a refusal; null if the call failed, which says nothing about the token, or its rows cannot be counted */
async function rowsSeen(
  reference: StoredReferenceReport,
  secret: string,
  options: CompareOptions,
): Promise<number | null> {
  try {
    const { status, read } = await askWithToken({ method: 'GET', target: reference.target }, secret, options);
    const body = await read(options.maxAnswerBytes);
    if ([401, 403, 404].includes(status)) return 0;
    return status === 200 ? options.countRows(body, reference) : null;
  } catch {
    return null;
  }
}

/** `internal` of a verification that failed: the platform refused the token, or no call was made. */
export const REFUSED = 'refused by the platform';
export const NOT_ASKED = 'no call was made';
export const NOT_ANSWERED = 'the platform did not answer';

interface ProbeTargets {
  /** Calls that prove a token, tried in turn. */
  readonly targets: readonly string[];
  /** Whether an operator chose them. */
  readonly configured: boolean;
  /** Calls that a valid token should be able to make, but no caller has made yet: tried last. */
  readonly guesses: readonly string[];
}

export interface VerifyOptions {
  readonly probeTargets: () => Promise<ProbeTargets>;
  /** `signal` ends a call early, here and below. */
  readonly probe: (target: string, secret: string, signal?: AbortSignal) => Promise<ProbeResult>;
  readonly compare: (secret: string, activeSecret: string, signal: AbortSignal) => Promise<Comparison>;
  /** Of the whole verification. */
  readonly limitMs: number;
}

export interface TokenProof extends ProbeResult {
  /** The last call, below the base URL; null: no call was made. */
  readonly target: string | null;
}

/** Makes the calls in turn until the platform accepts or refuses the token, or fails: then another call would fail, too. */
export async function probeInTurn(
  secret: string,
  targets: readonly string[],
  probe: VerifyOptions['probe'],
  signal?: AbortSignal,
): Promise<TokenProof> {
  const reason = 'there is no call to verify it with; set PLATFORM_PROBE';
  let proof: TokenProof = {
    ...{ outcome: 'unknown', reason, isSilent: false, isOfReport: false },
    ...{ target: null, platformNowMs: null },
  };
  for (const target of targets) {
    proof = { ...(await probe(target, secret, signal)), target };
    if (proof.outcome !== 'unknown' || !proof.isOfReport) break;
  }
  return proof;
}

/**
 * @param mayGuess whether calls may be made that no caller has made yet
 * @throws GatewayError `verification_failed` unless a call is accepted
 */
export async function proveToken(
  token: Token,
  active: Token | null,
  mayGuess: boolean,
  { probeTargets, probe }: VerifyOptions,
  signal: AbortSignal,
): Promise<TokenProof> {
  const { targets, configured, guesses } = await probeTargets();
  // The platform has just issued a minted token: it is valid unless a call is refused.
  const isTrusted = !configured && token.source === 'minted';
  const all = mayGuess && !configured && !isTrusted ? [...targets, ...guesses] : targets;
  const proof = await probeInTurn(token.secret, all, probe, signal);
  const { outcome, reason } = proof;
  if (outcome === 'accepted' || (outcome === 'unknown' && isTrusted)) return proof;
  const now =
    active === null
      ? 'no token is active'
      : `the active token stays in use${active.refusedAt === null ? '' : ', which the platform refuses too'}`;
  if (outcome === 'refused')
    throw unverified(
      `The platform refused the token; ${now}.`,
      "Copy the complete token from the platform's dashboard, and repeat.",
      { internal: REFUSED },
    );
  if (proof.isSilent) throw unanswered(reason);
  throw unverified(
    `The token could not be verified (${reason}); ${now}.`,
    'Set PLATFORM_PROBE to a cheap call that works, and repeat when the platform responds. Or repeat with "force": true to activate the token without verification.',
    proof.target === null ? { internal: NOT_ASKED } : {},
  );
}

/** @returns the number of reports compared. @throws GatewayError `verification_failed` if the token sees less */
export async function compareWithActive(
  token: Token,
  active: Token | null,
  { compare }: VerifyOptions,
  signal: AbortSignal,
): Promise<number> {
  if (active === null || active.id === token.id) return 0;
  const { compared, missing } = await compare(token.secret, active.secret, signal);
  if (missing === null) return compared;
  throw unverified(
    `The token sees less than the active one: ${missing}. The active one stays.`,
    'Give a token of the same account, or repeat with "force": true if that is intended.',
  );
}

/** The verification ended without an answer; the token stays pending. @param why a clause */
export function unanswered(why: string): GatewayError {
  return unverified(
    `${sentence(why).slice(0, -1)}; the token is pending, nothing was activated.`,
    'When the platform answers again: POST /admin/v1/token/verify, then POST /admin/v1/token/activate. Or discard it: POST /admin/v1/token/discard.',
    { internal: NOT_ANSWERED },
  );
}

function unverified(detail: string, help: string, more: { readonly internal?: string } = {}): GatewayError {
  return new GatewayError('verification_failed', { detail, help, ...more });
}
