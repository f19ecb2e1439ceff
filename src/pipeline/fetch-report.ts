/** One request to the platform for a report, made with a slot in hand. */

import { single } from '../platform/interpret.js';
import { readBody } from '../platform/read-body.js';
import type { CallReport, Slot } from '../platform/slot.js';
import type { Range } from '../report/period.js';
import { buildPlatformCall } from '../report/platform-call.js';
import type { AskedReport, Fetched } from './fetched.js';
import { type ReadOptions, readAnswer } from './read-answer.js';

export interface FetchInput extends Omit<AskedReport, 'startedAt'> {
  readonly range: Range;
  readonly onCall?: (report: CallReport) => void;
}

export interface FetchReportOptions extends ReadOptions {
  readonly maxAnswerBytes: number;
}

/** @throws CallFailed for everything that is not an answer or a refusal; GatewayError for what was not sent */
export type FetchReport = (slot: Slot, input: FetchInput) => Promise<Fetched>;

export function createFetchReport(options: FetchReportOptions): FetchReport {
  return async function fetchReport(slot, input) {
    const { report, range, onCall } = input;
    const { method, target, body } = buildPlatformCall(report, range.from, range.to);
    const headers = {
      'accept-encoding': 'gzip',
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
    };
    // Beside the call: nothing waits for it but the first answers of a process.
    void options.shapes.load();
    const startedAt = options.now();
    const request = { method, target, body, headers, ...(onCall === undefined ? {} : { onCall }) };
    return slot.send(request, async (response) => {
      const encoding = single(response.headers['content-encoding']);
      const chunks = await readBody(response.body, encoding, options.maxAnswerBytes);
      const fetched = await readAnswer({ ...input, startedAt }, response, chunks, options);
      if (fetched.kind === 'answer' && (fetched.rowsFault !== null || fetched.doubt !== null))
        response.doubt();
      return fetched;
    });
  };
}
