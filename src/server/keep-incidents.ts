/** Keeps the last incidents of all replicas in one document, which the elected process writes while there is something to note. */
import type { Clock } from '../lib/clock.js';
import type { Job } from '../store/jobs.js';
import { type Documents, whenAway } from '../store/port.js';
import { mergeDocument } from '../store/shared-tallies.js';
import { joinFailures } from '../telemetry/failures.js';
import type { Health } from '../telemetry/health.js';
import {
  INCIDENTS_KEPT_MS,
  type Incident,
  Incidents,
  noteIncidents,
  type Seen,
  spansOf,
  wasFelt,
} from '../telemetry/incidents.js';

const DOCUMENT = 'incidents';
/** While an incident lasts, and for a while after it, its failed reports are counted anew so often. */
const EVERY_MS = 5000;
const FOLLOWED_MS = 60_000;

interface IncidentsOptions {
  readonly documents: Documents;
  readonly health: Pick<Health, 'own' | 'processes' | 'worst'>;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** Failed reports of all teams in the minutes of this time. @throws StoreUnavailable */
  readonly failedReports: (fromMs: number, toMs: number) => Promise<number>;
}

export function createIncidents({ documents, health, clock, failedReports }: IncidentsOptions) {
  /** Null: not looked since this process was elected. */
  let noted: string | null = null;
  let [writtenAtMs, lookedAtMs, followedUntilMs] = [Number.NEGATIVE_INFINITY, 0, 0];

  function look(): Seen {
    const { since } = health.own();
    const { platform, credential } = health.worst();
    const failures = joinFailures(health.processes().map((one) => one.failures));
    const [platformSince, credentialSince] = [since.platform?.at ?? null, since.credential?.at ?? null];
    return { nowMs: clock.now(), platform, platformSince, credential, credentialSince, failures };
  }

  async function count(one: Incident, nowMs: number): Promise<Incident> {
    const untilMs = one.until === null ? nowMs : Date.parse(one.until);
    if (nowMs - untilMs > FOLLOWED_MS) return one;
    const counted = await failedReports(Date.parse(one.from), untilMs);
    return { ...one, failedReports: Math.max(one.failedReports, counted) };
  }

  const read = async (): Promise<readonly Incident[]> => {
    const text = await documents.get(DOCUMENT);
    return (text === null ? null : Incidents.parse(text)) ?? [];
  };

  const job: Job = async () => {
    const atMs = clock.monotonicMs();
    if (atMs - lookedAtMs > EVERY_MS) noted = null;
    lookedAtMs = atMs;
    const seen = look();
    const now = JSON.stringify(
      spansOf(seen).map(({ part, untilMs, cause }) => [part, untilMs, untilMs !== null && cause]),
    );
    if (now === '[]' && noted === null) {
      noted = now;
      if (!(await read()).some(({ until }) => until === null)) return;
    }
    const isFollowed = atMs < followedUntilMs && atMs - writtenAtMs >= EVERY_MS;
    if (now === noted && !isFollowed) return;
    const next = await Promise.all(noteIncidents(await read(), seen).map((one) => count(one, seen.nowMs)));
    await mergeDocument<readonly Incident[]>(documents, {
      key: DOCUMENT,
      ttlMs: INCIDENTS_KEPT_MS,
      decode: Incidents.parse,
      encode: (all) => JSON.stringify(all),
      // There is one leader.
      add: () => next,
    });
    if (now !== noted || next.some(({ until }) => until === null)) followedUntilMs = atMs + FOLLOWED_MS;
    [noted, writtenAtMs] = [now, atMs];
  };

  return {
    job,
    /** Newest first; null: the store does not answer. */
    list: (): Promise<readonly Incident[] | null> =>
      read().then(
        (all) => all.filter(wasFelt).toReversed(),
        whenAway(() => null),
      ),
  };
}
