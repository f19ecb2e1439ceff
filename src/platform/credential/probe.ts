/** Proves a token by one cheap call to the platform. */
import type { Dispatcher } from 'undici';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { timeoutSignal } from '../../lib/time.js';
import { type InterpretRules, interpret, single } from '../interpret.js';
import { readBody } from '../read-body.js';

/** accepted: the platform answered · refused: 401 or a login redirect · unknown: it could not be told */
export interface ProbeResult {
  readonly outcome: 'accepted' | 'refused' | 'unknown';
  /** For people: what the platform did. */
  readonly reason: string;
  /** What the platform's clock says, epoch milliseconds; null when it did not answer, or does not tell. */
  readonly platformNowMs: number | null;
}

export interface ProbeOptions {
  readonly agent: Dispatcher;
  readonly rules: InterpretRules;
  readonly timeoutMs: number;
  readonly nowMs: number;
  /** Whether a body says that it is an error: platforms tell of a bad token under status 200, too. */
  readonly saysError: (body: Buffer) => boolean;
}

/** An error is shorter. */
const LONGEST_ERROR_BYTES = 65_536;

/**
 * @param target path and query below the base URL
 * @param token the token to be proven, active or not
 */
export async function probeToken(target: string, token: string, options: ProbeOptions): Promise<ProbeResult> {
  try {
    const response = await options.agent.request({
      origin: options.rules.baseUrl.origin,
      path: options.rules.baseUrl.pathname.replace(/\/$/, '') + target,
      method: 'GET',
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        'x-request-id': randomId(),
      },
      signal: timeoutSignal(options.timeoutMs),
    });
    const isError = await tellsOfError(response, options.saysError);
    const verdict = interpret(response.statusCode, response.headers, options.rules, options.nowMs);
    const reason = `the platform answered the probe with status ${response.statusCode}`;
    const date = Date.parse(single(response.headers.date) ?? '');
    const platformNowMs = Number.isNaN(date) ? null : date;
    if (verdict.kind === 'credential-refused') return { outcome: 'refused', reason, platformNowMs };
    // A login page may come with status 200, too; it proves nothing.
    if (/html/i.test(single(response.headers['content-type']) ?? ''))
      return { outcome: 'unknown', reason: `${reason}, but with an HTML page`, platformNowMs };
    if (isError)
      return { outcome: 'unknown', reason: `${reason}, and says that it is an error`, platformNowMs };
    return { outcome: verdict.kind === 'answer' ? 'accepted' : 'unknown', reason, platformNowMs };
  } catch (error) {
    const reason = `the probe failed: ${(error as Error).message}`;
    return { outcome: 'unknown', reason, platformNowMs: null };
  }
}

/** Only JSON is read, and no more of it than an error takes; of anything else the status alone counts. */
async function tellsOfError(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  saysError: ProbeOptions['saysError'],
): Promise<boolean> {
  if (statusCode !== 200 || !/json/i.test(single(headers['content-type']) ?? '')) {
    body.on('error', () => {}).destroy();
    return false;
  }
  try {
    return saysError(
      Buffer.concat(await readBody(body, single(headers['content-encoding']), LONGEST_ERROR_BYTES)),
    );
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'upstream_too_large') return false;
    throw error;
  }
}
