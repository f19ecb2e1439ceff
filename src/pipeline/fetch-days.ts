/**
 * One range of a report: asked for, asked for again in halves where its row count may be a cap, split by day, and kept.
 * The one place for it: requests and cross-checks fetch here.
 */

import type { Purges } from '../cache/purges.js';
import type { Comparison, Learner } from '../divisibility/learn.js';
import type { PartRefusals } from '../divisibility/part-refusals.js';
import { GatewayError } from '../errors.js';
import type { PlatformClient } from '../platform/client.js';
import type { Slot } from '../platform/slot.js';
import { dayKey, rowsKey } from '../report/keys.js';
import type { Range } from '../report/period.js';
import type { FetchReport } from './fetch-report.js';
import { type FetchDaysInput, type FetchResult, LOOK_AGAIN } from './fetch-result.js';
import { CAPPED, type FetchUncapped } from './fetch-uncapped.js';
import type { Fetched } from './fetched.js';
import type { Keep } from './keep.js';
import type { ReportQuestion } from './question.js';
import { REMEMBERED } from './read-answer.js';
import type { SettleLost } from './settle-lost.js';

/** What was brought, and the write to the store that may still be under way. */
export interface FetchedDays {
  readonly fetched: Fetched;
  readonly result: FetchResult;
  readonly kept: Promise<unknown>;
}

/** @throws CallFailed, GatewayError as {@link FetchReport} */
export type FetchDays = (slot: Slot, input: FetchDaysInput) => Promise<FetchedDays>;

export interface FetchDaysOptions {
  readonly platform: Pick<PlatformClient, 'acquire' | 'retrying'>;
  readonly fetchReport: FetchReport;
  readonly fetchUncapped: FetchUncapped;
  readonly learner: Pick<Learner, 'status' | 'couldNotSplit'>;
  readonly partRefusals: Pick<PartRefusals, 'isPart' | 'wholeOf' | 'learn'>;
  readonly settleLost: SettleLost;
  readonly keep: Keep;
  readonly purges: Pick<Purges, 'seq'>;
  /** Longest time one call takes, waiting included. */
  readonly callMs: number;
  /** To be told of every answer that was split. */
  readonly learnFrom: (news: Comparison) => Promise<void>;
  readonly background: (work: Promise<unknown>) => void;
}

export function createFetchDays(options: FetchDaysOptions): FetchDays {
  const { platform, fetchReport, learner, partRefusals, settleLost, keep, purges, background } = options;

  return async function fetchDays(slot, input) {
    const asked = await fetchOnce(slot, input, input.range);
    const first = isRefusedPart(input, asked) ? await fetchWhole(input) : asked;
    const ask = (range: Range) => fetchFurther(input, range).then((one) => uncap(input, one));
    const answered =
      first.kind === 'refusal' ? await settleLost.cover(input, first, ask) : await uncap(input, first);
    const fetched = await settleLost.settle(input, answered, ask);
    // What it says to a part that learning asked for says nothing of the report.
    if (fetched.kind === 'refusal' && !input.learns)
      return { fetched, result: LOOK_AGAIN, kept: Promise.resolve() };
    noteUnsplittable(options, input, fetched);
    const { result, split, kept } = await keep(input, fetched);
    if (split !== null && input.learns) background(split.then(options.learnFrom));
    return { fetched, result, kept };
  };

  function uncap(input: FetchDaysInput, fetched: Fetched): Promise<Fetched> {
    return options.fetchUncapped(input, fetched, (half) => fetchFurther(input, half));
  }

  function fetchFurther(input: FetchDaysInput, range: Range): Promise<Fetched> {
    input.onFurtherCall?.();
    return fetchAnew(input, range);
  }

  /** What the platform says to a part is not what it says to the whole, where that can be asked for. */
  function isRefusedPart({ mode, report, learns }: FetchDaysInput, fetched: Fetched): boolean {
    if (!learns || mode !== 'days' || fetched.kind !== 'refusal') return false;
    return REMEMBERED.includes(fetched.refusal.header.status) && partRefusals.isPart(report, fetched.range);
  }

  /** @throws GatewayError `upstream_error` when the team may not cause the call that the refusal of a part needs */
  async function fetchWhole(input: FetchDaysInput): Promise<Fetched> {
    const { report } = input;
    const fetched = await fetchFurther(input, partRefusals.wholeOf(report) as Range).catch(
      (error: unknown) => {
        throw isShareSpent(error) ? partRefused(error) : error;
      },
    );
    if (fetched.kind === 'answer') background(partRefusals.learn(report));
    return fetched;
  }

  /** A further call of one's own, which waits for a slot as every call does. */
  function fetchAnew(input: FetchDaysInput, range: Range): Promise<Fetched> {
    return platform.retrying(callKind(input), options.callMs, async (deadline) =>
      fetchOnce(await platform.acquire(input.team, deadline), input, range),
    );
  }

  function fetchOnce(slot: Slot, input: FetchDaysInput, range: Range): Promise<Fetched> {
    const { report, series, known, mode, onCall } = input;
    return fetchReport(slot, {
      report,
      range,
      whole: mode === 'whole',
      seq: purges.seq,
      generation: learner.status(report).generation,
      earlier: (lastDay) => {
        const day = lastDay === null ? undefined : known.get(dayKey(series, lastDay).id);
        const whole = known.get(rowsKey(series, report.from.iso, report.to.iso).id);
        return (mode === 'days' ? day : whole)?.header ?? null;
      },
      ...(onCall === undefined ? {} : { onCall }),
    });
  }
}

/** For a day the kind is not asked for by days again. That a single day is capped says nothing of other series. */
function noteUnsplittable(
  { learner, background }: FetchDaysOptions,
  { report, mode }: FetchDaysInput,
  fetched: Fetched,
): void {
  if (mode !== 'days' || fetched.kind !== 'answer' || fetched.days !== null) return;
  const reason = fetched.splittable.ok ? CAPPED : fetched.splittable.reason;
  const { state } = learner.status(report);
  if (state === 'proven' && reason !== CAPPED && fetched.doubt === null && fetched.flaws.length === 0)
    background(learner.couldNotSplit(report, reason));
}

export function callKind({ report }: Pick<ReportQuestion, 'report'>): 'read' | 'post-read' {
  return report.method === 'GET' ? 'read' : 'post-read';
}

/** What one team has used up is nothing to others who wait for its call: they may make it themselves. */
export function isShareSpent(error: unknown): error is GatewayError {
  if (!(error instanceof GatewayError)) return false;
  return error.code === 'upstream_budget_exhausted' || isShareSpent(error.cause);
}

function partRefused(cause: GatewayError): GatewayError {
  const { retryAfterS } = cause.options;
  return new GatewayError('upstream_error', {
    detail:
      "The platform refused a part of the period, which says nothing of the whole, and the team's share of platform calls does not allow to ask for the whole.",
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
    cause,
  });
}
