/** Fetches a range of a report, in halves if its row count may be a cap, splits it by day and stores it. */

import { GatewayError } from '../../errors.js';
import { GATEWAY_TEAM } from '../../platform/budget.js';
import { single } from '../../platform/interpret.js';
import { readBody } from '../../platform/read-body.js';
import type { Refusal } from '../../platform/read-refusal.js';
import type { Slot } from '../../platform/slot.js';
import { daysFound } from '../cache/look-up.js';
import type { Gateway } from '../gateway.js';
import { type Days, type DaysOf, daysByDate } from '../learn/compare-days.js';
import type { PlatformSays } from '../learn/proof.js';
import { daysBetween } from '../query/days.js';
import type { Period } from '../query/period.js';
import { buildPlatformCall, type ReportSeries, rowsKey } from '../query/platform-call.js';
import { dayRef, newPatience, type ReportQuestion } from '../question.js';
import type { RefusalHeader } from '../rows/entry.js';
import { isCut } from '../rows/freshness.js';
import { rowsOfEachDay } from '../rows/proves-cap.js';
import { afterFetch } from './after-fetch.js';
import { CAPPED, fetchUncapped } from './fetch-uncapped.js';
import { type Fetch, type Fetched, type FetchResult, LOOK_AGAIN } from './fetched.js';
import { REMEMBERED, readAnswer } from './read-answer.js';
import { coverRefusal, recoverLostDays } from './settle-lost.js';
import { isShareSpent } from './shared-attempts.js';

/**
 * @returns `kept`: the pending write to the store
 * @throws CallFailed unless there is an answer or a refusal; GatewayError if nothing was sent
 */
export async function fetchDays(
  g: Gateway,
  slot: Slot,
  fetch: Fetch,
): Promise<{ readonly fetched: Fetched; readonly result: FetchResult; readonly kept: Promise<unknown> }> {
  const asked = await fetchOnce(g, slot, fetch, fetch.range);
  const first = isRefusedPart(g, fetch, asked) ? await fetchWhole(g, fetch) : asked;
  const ask = (range: Period) => fetchFurther(g, fetch, range).then((one) => uncap(g, fetch, one));
  const answered =
    first.kind === 'refusal' ? await coverRefusal(g, fetch, first, ask) : await uncap(g, fetch, first);
  const fetched = await recoverLostDays(g, fetch, answered, ask);
  // A refusal of a range that learning chose is not stored.
  if (fetched.kind === 'refusal' && !fetch.learns)
    return { fetched, result: LOOK_AGAIN, kept: Promise.resolve() };
  noteUnsplittable(g, fetch, fetched);
  const { result, kept } = await afterFetch(g, fetch, fetched);
  return { fetched, result, kept };
}

/**
 * Fetches a range for comparison. Stored, and not learned from again.
 * @param team charged, when its request waits for the comparison
 */
export async function fetchToLearn(
  g: Gateway,
  of: DaysOf,
  from: string,
  to: string,
  team = GATEWAY_TEAM,
): Promise<Days | null> {
  const fetch = learningFetch(g, of, { from, to }, team);
  const { fetched } = await withSlot(g, fetch, (slot) => fetchDays(g, slot, fetch));
  return fetched.kind === 'answer' && fetched.days !== null ? daysByDate(fetched.days) : null;
}

/** One call of a proof, and no further one whatever it brings. Stored if nothing is strange about it. */
export async function probe(g: Gateway, of: ReportSeries, from: string, to: string): Promise<PlatformSays> {
  const { report, series } = of;
  const refs = daysBetween(from, to).map((date) => dayRef(series, date));
  const known = daysFound(refs, (await g.lookUp.read(report, refs)).found);
  const fetch = learningFetch(g, { report, series, known }, { from, to }, GATEWAY_TEAM);
  const fetched = await withSlot(g, fetch, (slot) => fetchOnce(g, slot, fetch, fetch.range));
  if (fetched.kind === 'refusal')
    return { kind: 'refused', status: fetched.refusal.header.status, words: wordsOf(fetched.refusal.header) };
  const { days, splittable, rowCount } = fetched;
  if (days === null)
    return { kind: 'undivided', reason: splittable.ok ? 'it may be no report' : splittable.reason };
  const caps = g.policy.rulesFor(report);
  if (days.some(({ header }) => isCut(header, caps))) return { kind: 'cut' };
  // Whether the answer is complete, the parts show: until then it is not stored.
  const count = { rows: rowCount, perDay: rowsOfEachDay(days) };
  const isSuspect = g.caps.suspects(of, `${from}/${to}`, count);
  const hasRows = (date: string) => (known.get(date)?.header.rowCount ?? 0) > 0;
  const isLosing = days.some(({ header }) => header.rowCount === 0 && hasRows(header.lastDay as string));
  if (!isLosing && !isSuspect) await afterFetch(g, fetch, fetched);
  return { kind: 'days', days };
}

function learningFetch(g: Gateway, of: DaysOf, range: Period, team: string): Fetch {
  const { report, series, known } = of;
  return {
    report,
    series,
    range,
    team,
    known,
    mode: 'days',
    form: 'rows',
    order: g.days.nextOrder(),
    patience: newPatience(),
    learns: false,
  };
}

function wordsOf({ status, upstream }: RefusalHeader): string {
  const { message } = upstream as Refusal;
  return message === null ? `status ${status}.` : `status ${status}, "${message}".`;
}

function withSlot<T>(
  g: Gateway,
  { report, team, waitsForAll }: Pick<Fetch, 'report' | 'team' | 'waitsForAll'>,
  call: (slot: Slot) => Promise<T>,
): Promise<T> {
  return g.platform.retrying(callKind({ report }), g.config.platform.timeoutMs, async (deadline) =>
    call(await g.platform.acquire(team, deadline, waitsForAll)),
  );
}

export function callKind({ report }: Pick<ReportQuestion, 'report'>): 'read' | 'post-read' {
  return report.method === 'GET' ? 'read' : 'post-read';
}

function uncap(g: Gateway, fetch: Fetch, fetched: Fetched): Promise<Fetched> {
  return fetchUncapped(g, fetch, fetched, (half) => fetchFurther(g, fetch, half));
}

function fetchFurther(g: Gateway, fetch: Fetch, range: Period): Promise<Fetched> {
  fetch.onFurtherCall?.();
  return withSlot(g, fetch, (slot) => fetchOnce(g, slot, fetch, range));
}

/** Whether a part was refused, and the whole can be requested instead. */
function isRefusedPart(g: Gateway, { mode, report, learns }: Fetch, fetched: Fetched): boolean {
  if (!learns || mode !== 'days' || fetched.kind !== 'refusal') return false;
  const { range, refusal } = fetched;
  const { from, to } = report;
  if (from === null || to === null || (range.from === from && range.to === to)) return false;
  return (
    daysBetween(from, to).length <= g.policy.plan.maxDaysPerCall && REMEMBERED.includes(refusal.header.status)
  );
}

/** @throws GatewayError `upstream_error` if the team's share does not allow the further call */
function fetchWhole(g: Gateway, fetch: Fetch): Promise<Fetched> {
  const { from, to } = fetch.report;
  return fetchFurther(g, fetch, { from, to } as Period).catch((error: unknown) => {
    throw isShareSpent(error) ? partRefused(error) : error;
  });
}

/** One request to the platform, in a slot. */
function fetchOnce(g: Gateway, slot: Slot, fetch: Fetch, range: Period): Promise<Fetched> {
  const { report, series, known, mode, order, onCall } = fetch;
  const { method, target, body } = buildPlatformCall(report, range.from, range.to);
  const headers = {
    'accept-encoding': 'gzip',
    ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
  };
  // In parallel with the call; only the first answers of a process wait for it.
  void g.shapes.load();
  const asked = {
    report,
    range,
    order,
    whole: mode === 'whole' || g.history.isFull(),
    seq: g.purges.seq,
    generation: g.learner.status(report).generation,
    startedAt: g.now(),
    earlier(lastDay: string | null) {
      const day = lastDay === null ? undefined : known.get(lastDay);
      const whole = known.get(rowsKey(series, report.from, report.to).id);
      return (mode === 'days' ? day : whole)?.header ?? null;
    },
  };
  const request = { method, target, body, headers, ...(onCall === undefined ? {} : { onCall }) };
  return slot.send(request, async (response) => {
    const encoding = single(response.headers['content-encoding']);
    const chunks = await readBody(response.body, encoding, g.config.platform.maxAnswerBytes);
    const fetched = await readAnswer(g, asked, response, chunks);
    if (fetched.kind === 'answer' && (fetched.rowsFault !== null || fetched.doubt !== null))
      response.doubt(fetched.rowsFault === null);
    return fetched;
  });
}

/** Reports of this kind are then fetched as a whole for a day; not if a single day is capped, which concerns one series. */
function noteUnsplittable(g: Gateway, { report, mode }: Fetch, fetched: Fetched): void {
  if (mode !== 'days' || fetched.kind !== 'answer' || fetched.days !== null) return;
  const reason = fetched.splittable.ok ? CAPPED : fetched.splittable.reason;
  const { state } = g.learner.status(report);
  if (state === 'proven' && reason !== CAPPED && fetched.doubt === null && fetched.flaws.length === 0)
    g.background(g.learner.couldNotSplit(report, reason));
}

function partRefused(cause: GatewayError): GatewayError {
  const { retryAfterS } = cause.options;
  return new GatewayError('upstream_error', {
    detail:
      "The platform refused part of the period. The team's share of platform calls is spent, so the whole period could not be requested.",
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
    cause,
  });
}
