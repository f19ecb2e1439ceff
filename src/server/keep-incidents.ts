/** Keeps the last incidents of all replicas in one document, which the elected process writes while there is something to note. */
import type { Clock } from '../lib/clock.js';
import type { FailedPart } from '../outcome.js';
import type { Job } from '../store/jobs.js';
import { type Documents, whenAway } from '../store/port.js';
import { mergeDocument } from '../store/shared-tallies.js';
import { joinFailures } from '../telemetry/failures.js';
import type { Health } from '../telemetry/health.js';
import {
  failedOf,
  INCIDENTS_KEPT_MS,
  type Incident,
  Incidents,
  lasts,
  listed,
  minutesOf,
  noteIncidents,
  type Seen,
  spansOf,
} from '../telemetry/incidents.js';

const DOCUMENT = 'incidents';
/** While an incident lasts, and for a while after it, its failed reports are counted anew so often. */
const EVERY_MS = 5000;
const FOLLOWED_MS = 120_000;
const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];
/** Failed reports of an incident that are named by their request ids. */
const NAMED = 3;

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

interface IncidentsOptions {
  readonly documents: Documents;
  readonly health: Pick<Health, 'own' | 'processes' | 'worst'>;
  readonly outlook: () => { readonly refusedAt: string | null };
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** Failed reports of all teams by the start of their minute and by part, at most a day back. @throws StoreUnavailable */
  readonly failedByMinute: (
    fromMs: number,
  ) => Promise<ReadonlyMap<number, Readonly<Record<FailedPart, number>>>>;
  /** The first reports that failed by this part in this time, at most so many. */
  readonly firstFailed: (
    part: FailedPart,
    fromMs: number,
    untilMs: number,
    limit: number,
  ) => Promise<readonly string[]>;
}

function seenBy({ health, outlook, clock }: IncidentsOptions): Seen {
  const { since } = health.own();
  const { platform, credential } = health.worst();
  const failures = joinFailures(health.processes().map((one) => one.failures));
  const [platformSince, credentialSince] = [since.platform?.at ?? null, since.credential?.at ?? null];
  const { refusedAt } = outlook();
  return { nowMs: clock.now(), platform, platformSince, credential, credentialSince, refusedAt, failures };
}

export function createIncidents(options: IncidentsOptions) {
  const { documents, clock, failedByMinute, firstFailed } = options;
  /** Null: not looked since this process was elected. */
  let noted: string | null = null;
  let [writtenAtMs, lookedAtMs, followedUntilMs] = [Number.NEGATIVE_INFINITY, 0, 0];

  const look = () => seenBy(options);

  /** Counts them anew, unless their minutes are not kept any more. */
  async function count(all: readonly Incident[], nowMs: number): Promise<readonly Incident[]> {
    const keptMs = nowMs - DAY_MS;
    const recent = all.map((one) => minutesOf(one, nowMs)).filter(({ untilMs }) => untilMs >= keptMs);
    if (recent.length === 0) return all;
    const failed = await failedByMinute(Math.min(...recent.map(({ fromMs }) => fromMs)));
    const counts = failedOf(all, failed, nowMs);
    return all.map((one, at) => {
      const counted = counts[at] as number;
      const isWhole = Date.parse(one.from) - MINUTE_MS >= keptMs;
      return { ...one, failedReports: isWhole ? counted : Math.max(one.failedReports, counted) };
    });
  }

  const show = async (all: readonly Incident[], nowMs: number): Promise<readonly Incident[]> =>
    Promise.all((await count(all, nowMs)).map((one) => name(one, nowMs)));

  /** Processes keep failed requests for a while only. */
  async function name(one: Incident, nowMs: number): Promise<Incident> {
    const { fromMs, untilMs } = minutesOf(one, nowMs);
    const { failedReports, requestIds: known = [] } = one;
    const isKnown = known.length >= Math.min(NAMED, failedReports);
    if (isKnown || nowMs - untilMs > FOLLOWED_MS) return one;
    const found = await firstFailed(one.part, fromMs, untilMs, NAMED);
    return found.length > known.length ? { ...one, requestIds: [...found] } : one;
  }

  const read = async (): Promise<readonly Incident[]> => {
    const text = await documents.get(DOCUMENT);
    return (text === null ? null : Incidents.parse(text)) ?? [];
  };

  /** With what the job has not noted yet. */
  const readNow = async () => noteIncidents(await read(), look());

  const job: Job = async () => {
    const atMs = clock.monotonicMs();
    if (atMs - lookedAtMs > EVERY_MS) noted = null;
    lookedAtMs = atMs;
    const seen = look();
    const now = JSON.stringify(
      spansOf(seen).map(({ part, untilMs, cause }) => [part, untilMs, untilMs !== null && cause]),
    );
    // What an earlier process left open is over: nothing fails now.
    if (now === '[]' && noted === null && !(await read()).some(lasts)) noted = now;
    const isFollowed = atMs < followedUntilMs && atMs - writtenAtMs >= EVERY_MS;
    if (now === noted && !isFollowed) return;
    const next = await show(noteIncidents(await read(), seen), seen.nowMs);
    await mergeDocument<readonly Incident[]>(documents, {
      key: DOCUMENT,
      ttlMs: INCIDENTS_KEPT_MS,
      decode: Incidents.parse,
      encode: (all) => JSON.stringify(all),
      // There is one leader.
      add: () => next,
    });
    if (now !== noted || next.some(lasts)) followedUntilMs = atMs + FOLLOWED_MS;
    [noted, writtenAtMs] = [now, atMs];
  };

  return {
    job,
    /** In the order of `listed`; null: the store does not answer. */
    list: (): Promise<readonly Incident[] | null> =>
      readNow()
        .then((all) => show(all, clock.now()))
        .then(
          listed,
          whenAway(() => null),
        ),
    /** Failed reports of all incidents since this time. @throws StoreUnavailable */
    async failedSince(fromMs: number): Promise<number> {
      const [all, nowMs] = [await readNow(), clock.now()];
      if (fromMs >= nowMs - DAY_MS) return sum(failedOf(all, await failedByMinute(fromMs), nowMs));
      const counted = await count(all, nowMs);
      return sum(
        counted.filter(({ from }) => Date.parse(from) >= fromMs).map(({ failedReports }) => failedReports),
      );
    },
  };
}
