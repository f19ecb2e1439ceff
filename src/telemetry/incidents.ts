/** Times in which the platform failed or refused the token, kept after they are over. Pure. */
import Type, { type Static } from 'typebox';
import { type Frozen, recordForm } from '../lib/record.js';
import { clockTime, costOfIncident, incidentOf, roughly, secondOf } from '../lib/words.js';
import { FAILED_PARTS, type FailedPart } from '../outcome.js';
import {
  APART_AFTER_MS,
  answeredAfter,
  describeCauses,
  type Failures,
  failingSince,
  recoveredAt,
  teamsHit,
} from './failures.js';

const time = (description: string) => Type.String({ format: 'date-time', description });

export const Incident = Type.Object(
  {
    part: Type.Enum([...FAILED_PARTS]),
    from: time('The first failure.'),
    until: Type.Union([time('The first answer after the last failure.'), Type.Null()], {
      description: 'Null: it lasts.',
    }),
    cause: Type.String({
      description: 'Why platform calls failed, each with their number, or why the last one did.',
    }),
    failedReports: Type.Integer({
      minimum: 0,
      description:
        'Reports that failed by its part in its minutes, the first and the last one included: credential_unavailable by the credential, all others by the platform. For an incident of more than a day there may be more.',
    }),
    requestIds: Type.Optional(
      Type.Array(Type.String(), { description: 'Of its first failed reports, at most three.' }),
    ),
    teams: Type.Array(Type.String(), { description: 'Whose reports these are.' }),
  },
  { title: 'Incident' },
);
export type Incident = Frozen<Static<typeof Incident>>;

/** Oldest first. */
export const Incidents = recordForm(Type.Array(Incident));

export const INCIDENTS_KEPT = 20;
export const INCIDENTS_KEPT_MS = 30 * 86_400_000;

/** What is known of all processes together. */
export interface Seen {
  readonly nowMs: number;
  /** The worst condition of each part, and since when, ISO; null: well. */
  readonly platform: string;
  readonly platformSince: string | null;
  readonly credential: string;
  readonly credentialSince: string | null;
  /** When the platform refused the token, ISO; null: not known to this process. */
  readonly refusedAt: string | null;
  readonly failures: Failures;
}

type Span = Pick<Incident, 'part' | 'cause'> & {
  readonly fromMs: number;
  /** Null: it lasts. */
  readonly untilMs: number | null;
};

const CREDENTIAL_CAUSES: Readonly<Record<string, string>> = {
  refused: 'the platform refused the token',
  expired: 'the token had expired',
};

const isFailing = (platform: string): boolean => /^(?:calls fail|most calls fail|failing)/.test(platform);

/** What is to be noted now: what lasts, or is just over. */
export function spansOf(seen: Seen): readonly Span[] {
  const { nowMs, platform, platformSince, credential, credentialSince, refusedAt, failures } = seen;
  const { lastRow, why } = failures;
  const spans: Span[] = [];
  if (isFailing(platform)) {
    const fromMs = failures.fromMs ?? (platformSince === null ? nowMs : Date.parse(platformSince));
    const untilMs = recoveredAt(failures);
    spans.push({
      part: 'platform',
      fromMs,
      untilMs,
      cause: describeCauses(failures.causes) || (why ?? 'calls fail'),
    });
  } else if (lastRow !== undefined) {
    const { fromMs, untilMs } = lastRow;
    spans.push({ part: 'platform', fromMs, untilMs, cause: lastRow.why });
  }
  const cause = CREDENTIAL_CAUSES[credential];
  if (cause !== undefined) {
    // A token that soon expires has not been well for long.
    const seenMs = Date.parse(
      (credential === 'refused' ? refusedAt : null) ?? credentialSince ?? isoOf(nowMs),
    );
    const fromMs = Math.min(seenMs, ...failingSince(failures, 'credential', nowMs));
    spans.push({ part: 'credential', fromMs, untilMs: null, cause });
  }
  return spans;
}

/** @returns the incidents with what is seen now, at most {@link INCIDENTS_KEPT} of {@link INCIDENTS_KEPT_MS}, oldest first */
export function noteIncidents(known: readonly Incident[], seen: Seen): readonly Incident[] {
  const spans = spansOf(seen);
  const ended = known.map((one) =>
    one.until !== null || spans.some(({ part, untilMs }) => part === one.part && untilMs === null)
      ? one
      : { ...one, until: isoOf(endOf(one, seen)) },
  );
  const all = spans.reduce<readonly Incident[]>((list, span) => addSpan(list, span, seen), ended);
  return all
    .map((one) => ({ ...one, teams: teamsOf(one, seen) }))
    .filter(({ until }) => until === null || Date.parse(until) > seen.nowMs - INCIDENTS_KEPT_MS)
    .sort((one, other) => Date.parse(one.from) - Date.parse(other.from))
    .slice(-INCIDENTS_KEPT);
}

/** When an incident ended that is over now. */
function endOf({ part, from }: Incident, { failures, nowMs }: Seen): number {
  const endedMs = part === 'platform' ? answeredAfter(failures) : null;
  return Math.max(Date.parse(from), endedMs ?? nowMs);
}

/** By the rule of {@link failedOf}. */
const teamsOf = (one: Incident, { failures, nowMs }: Seen): readonly string[] =>
  [...new Set([...one.teams, ...teamsHit(failures, one.part, minutesOf(one, nowMs))])].sort();

function addSpan(
  list: readonly Incident[],
  { part, cause, fromMs, untilMs }: Span,
  seen: Seen,
): readonly Incident[] {
  const last = list.findLast((one) => one.part === part);
  const lastUntilMs = last === undefined ? 0 : last.until === null ? seen.nowMs : Date.parse(last.until);
  // It is noted already.
  if (last !== undefined && untilMs !== null && untilMs <= lastUntilMs) return list;
  const until = untilMs === null ? null : isoOf(untilMs);
  if (last === undefined || fromMs >= lastUntilMs + APART_AFTER_MS)
    return [...list, { part, from: isoOf(fromMs), until, cause, failedReports: 0, teams: [] }];
  const from = isoOf(Math.min(fromMs, Date.parse(last.from)));
  return list.with(list.indexOf(last), { ...last, cause, from, until });
}

const MINUTE_MS = 60_000;

/** The minutes in which it lasts, from the start of the first to the end of the last, epoch milliseconds. */
export function minutesOf({ from, until }: Pick<Incident, 'from' | 'until'>, nowMs: number) {
  const minute = (ms: number) => Math.floor(ms / MINUTE_MS) * MINUTE_MS;
  const untilMs = until === null ? nowMs : Date.parse(until);
  return { fromMs: minute(Date.parse(from)), untilMs: minute(untilMs) + MINUTE_MS - 1 };
}

/**
 * The only rule by which failed reports are of an incident: those of its part in its minutes. Incidents of one part are two
 * minutes apart. So none counts twice, and those of all incidents and of no incident are all there are.
 * @param failed reports by the start of their minute, epoch milliseconds
 * @returns failed reports of each incident
 */
export function failedOf(
  all: readonly Incident[],
  failed: ReadonlyMap<number, Readonly<Record<FailedPart, number>>>,
  nowMs: number,
): readonly number[] {
  const spans = all.map((one) => minutesOf(one, nowMs));
  const counts = all.map(() => 0);
  for (const [atMs, parts] of failed)
    for (const part of FAILED_PARTS) {
      const at = spans.findIndex(
        ({ fromMs, untilMs }, one) => all[one]?.part === part && fromMs <= atMs && atMs <= untilMs,
      );
      if (at >= 0) counts[at] = (counts[at] as number) + parts[part];
    }
  return counts;
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Whether it was one: not if it was over within a second, and no report failed. */
export const wasFelt = ({ from, until, failedReports }: Incident): boolean =>
  until === null || failedReports > 0 || Date.parse(until) - Date.parse(from) >= 1000;

export const lasts = ({ until }: Incident): boolean => until === null;

/** Those that were felt: that last before those that are over, newest first. @param all oldest first */
export function listed(all: readonly Incident[]): readonly Incident[] {
  const felt = all.filter(wasFelt).toReversed();
  return [...felt.filter(lasts), ...felt.filter((one) => !lasts(one))];
}

export const Recovery = Type.Object(
  {
    part: Type.Enum([...FAILED_PARTS]),
    at: time('The end of the last incident.'),
    says: Type.String({ description: 'What it was, how long it lasted, and what it cost.' }),
  },
  { title: 'Recovery' },
);

const RECOVERY_TOLD_MS = 15 * MINUTE_MS;

/** What is well again since the last incident, for a quarter of an hour. @param all newest first */
export function recoveryOf(
  all: readonly Incident[] | null,
  nowMs: number,
): Frozen<Static<typeof Recovery>> | null {
  const ended = (all ?? []).flatMap(({ until, ...one }) => (until === null ? [] : { ...one, until }));
  const [last] = ended.sort((one, other) => Date.parse(other.until) - Date.parse(one.until));
  if (last === undefined || Date.parse(last.until) < nowMs - RECOVERY_TOLD_MS) return null;
  const { part, from, until: at } = last;
  const lasted = roughly(Date.parse(at) - Date.parse(from));
  const says = `Well again since ${clockTime(Date.parse(at), nowMs, secondOf)}, after ${lasted}: ${incidentOf(last)}; ${costOfIncident(last)}.`;
  return { part, at, says };
}
