/** Stage: asks the platform for a report. */
import { GatewayError } from '../errors.js';
import type { PlatformClient } from '../platform/client.js';
import { type CallDeadline, startDeadline } from '../platform/deadline.js';
import { single } from '../platform/interpret.js';
import { readBody } from '../platform/read-body.js';
import type { CallReport } from '../platform/slot.js';
import type { Range } from '../report/period.js';
import { buildPlatformCall } from '../report/platform-call.js';
import { type AskedReport, type Fetched, type ReadOptions, readAnswer } from './read-answer.js';
import { createSeenPlaces } from './seen-places.js';

export interface FetchAsk extends Omit<AskedReport, 'range' | 'startedAt' | 'seq'> {
  /** Who pays for the call. */
  readonly team: string;
  /**
   * Called when it is this call's turn: what to ask for, or null when nothing is left to be asked.
   * Whoever waited in line may find that somebody else brought it meanwhile. Once the signal is aborted nobody waits
   * for the choice any more: what it holds then it has to let go of itself.
   */
  readonly choose: (deadline: CallDeadline) => Promise<Range | null>;
  /** The newest purge known when the platform is asked. */
  readonly seq: () => number;
  readonly onTry?: (report: CallReport) => void;
}

export interface FetchOptions extends Omit<ReadOptions, 'places'> {
  readonly platform: PlatformClient;
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
}

/** @returns null when `choose` found nothing left to ask */
export type FetchReport = (ask: FetchAsk) => Promise<Fetched | null>;

export function createFetchReport(options: FetchOptions): FetchReport {
  const reading: ReadOptions = { ...options, places: createSeenPlaces() };
  return async function fetchReport(ask) {
    let range: Range = { from: null, to: null };
    let asked = { startedAt: 0, seq: 0 };
    const { method } = buildPlatformCall(ask.report, null, null);
    const deadline = startDeadline(options.timeoutMs, undefined);
    let chosen: Promise<Range | null> | null = null;
    const choose = () => {
      chosen ??= ask.choose(deadline);
      return chosen;
    };
    const { acquire, retrying } = options.platform;
    try {
      return await retrying(method === 'GET' ? 'read' : 'post-read', deadline, async () => {
        const slot = await acquire(ask.team, deadline).catch(async (error: unknown) => {
          // Somebody else may be asking the same.
          if (!(error instanceof GatewayError) || error.code !== 'upstream_budget_exhausted') throw error;
          if ((await choose()) !== null) throw error;
          return null;
        });
        if (slot === null) return null;
        try {
          const picked = await choose();
          if (picked === null) return null;
          range = picked;
          asked = { startedAt: options.now(), seq: ask.seq() };
          const headers = {
            'accept-encoding': 'gzip',
            ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
          };
          const { target, body } = buildPlatformCall(ask.report, range.from, range.to);
          return await slot.send(
            { method, target, body, headers, ...(ask.onTry === undefined ? {} : { onCall: ask.onTry }) },
            async (response) => {
              const encoding = single(response.headers['content-encoding']);
              const chunks = await readBody(response.body, encoding, options.maxAnswerBytes);
              return readAnswer({ ...ask, ...asked, range }, response, chunks, reading);
            },
          );
        } finally {
          slot.release();
        }
      });
    } finally {
      deadline.stop();
    }
  };
}
