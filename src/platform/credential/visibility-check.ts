/** Whether a token sees as much as the active one: the same final reports, asked with either. */
import { randomId } from '../../lib/chance.js';
import { timeoutSignal } from '../../lib/time.js';
import { single } from '../interpret.js';
import { readBody } from '../read-body.js';
import type { ProbeOptions } from './probe.js';
import type { ReferenceReports, StoredReferenceReport } from './reference-reports.js';

export interface SightOptions extends Omit<ProbeOptions, 'nowMs' | 'saysError'> {
  readonly referenceReports: Pick<ReferenceReports, 'list'>;
  /** The rows in an answer to a reference's report; null when they cannot be told. */
  readonly countRows: (body: Buffer, reference: StoredReferenceReport) => number | null;
  readonly maxAnswerBytes: number;
}

/** What came of asking final reports again. */
export interface Sight {
  /** How many reports the new token answered with rows that could be counted. */
  readonly compared: number;
  /** What is seen less, for people; null when nothing is. */
  readonly less: string | null;
}

/**
 * A final report that has fewer rows than it had is asked with the active token, too: only when that one still sees
 * more is the difference the token's. Where the active one sees nothing any more, nothing can be held against.
 */
export type CompareSight = (secret: string, activeSecret: string) => Promise<Sight>;

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
