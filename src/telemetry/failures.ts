/** The last failure of platform calls and whose reports failed, by which part: of one process, and of all together. Pure. */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../lib/record.js';
import { betweenTimes, clockTime, secondOf, someOf } from '../lib/words.js';
import { FAILED_PARTS, type FailedPart } from '../outcome.js';

const timeMs = Type.Union([Type.Number({ description: 'Milliseconds since 1970.' }), Type.Null()]);

/** Of calls of the platform, in milliseconds since 1970. */
const Row = Type.Object(
  {
    calls: Type.Integer({ description: 'Calls that failed one after another, the last one included.' }),
    sinceMs: Type.Number({ description: 'When the first of them failed.' }),
    afterMs: timeMs,
  },
  {
    title: 'RowOfFailures',
    description: 'Absent if the last call did not fail. `afterMs`: the answer before it.',
  },
);

const FailedTeam = Type.Object(
  {
    team: Type.String(),
    part: Type.Enum([...FAILED_PARTS], { description: 'By which its reports failed.' }),
    fromMs: Type.Number({
      description: 'When the first of those failed with less than a minute between them.',
    }),
    atMs: Type.Number({ description: 'When the last one failed.' }),
  },
  { title: 'FailedTeam' },
);

export const Failures = Type.Object(
  {
    failedAtMs: timeMs,
    why: Type.Union([Type.String({ description: 'Of the last failed platform call.' }), Type.Null()]),
    answeredAtMs: timeMs,
    teams: Type.Array(FailedTeam, { description: 'Whose reports failed within the last five minutes.' }),
    // Absent: reported by an earlier release.
    reportFailedAtMs: Type.Optional(timeMs),
    recoveredAtMs: Type.Optional(timeMs),
    fromMs: Type.Optional(
      Type.Number({
        description: 'When the first call of the same incident failed.',
      }),
    ),
    row: Type.Optional(Row),
    mixed: Type.Optional(
      Type.Literal(true, { description: 'A call was answered between these failed ones.' }),
    ),
    causes: Type.Optional(
      Type.Record(Type.String(), Type.Integer(), {
        description: 'Failed calls of the same incident, by cause.',
      }),
    ),
    lastRow: Type.Optional(
      Type.Object(
        { fromMs: Type.Number(), untilMs: Type.Number(), why: Type.String() },
        { description: 'The last three or more calls in a row that failed, until a call was answered.' },
      ),
    ),
    judged: Type.Optional(
      Type.Object(
        { calls: Type.Integer(), before: Type.Integer() },
        {
          description:
            'Calls of the five minutes before the last failure (`before`), and with all later ones (`calls`).',
        },
      ),
    ),
  },
  {
    title: 'Failures',
    description:
      'The last failed platform call, an answer after it (`answeredAtMs`), and the first one (`recoveredAtMs`).',
  },
);
export type Failures = Frozen<Static<typeof Failures>>;

export const NO_FAILURES: Failures = { failedAtMs: null, why: null, answeredAtMs: null, teams: [] };

/** From so many failed calls in a row there is a warning. */
export const ROW_OF_FAILURES = 3;

const SAME_WITHIN_MS = 5 * 60_000;
/** So long after the platform answered again a failure is another incident. */
export const APART_AFTER_MS = 2 * 60_000;

/** Whether what fails at this time is of the same incident as the last failure. */
export const isSameIncident = (last: Failures, atMs: number): boolean =>
  last.failedAtMs !== null &&
  atMs - last.failedAtMs <= SAME_WITHIN_MS &&
  atMs - (answeredAfter(last) ?? atMs) < APART_AFTER_MS;

/** E.g. `status 503: 20, timed out: 19`, the most frequent first; empty: none is known. */
export function describeCauses(causes: Failures['causes'] = {}): string {
  const all = Object.entries(causes).sort(([one, a], [other, b]) => b - a || one.localeCompare(other));
  return all.map(([cause, calls]) => `${cause}: ${calls}`).join(', ');
}

/** A cause without the time that a call took. */
export const causeOf = (why: string): string =>
  why.replace(/ after \d+ s$/, '').replace(/^waited \d+ s /, 'waited ');

function addCauses(all: readonly Failures[]): Record<string, number> {
  const sums = new Map<string, number>();
  for (const { causes = {} } of all)
    for (const [cause, calls] of Object.entries(causes)) sums.set(cause, (sums.get(cause) ?? 0) + calls);
  return Object.fromEntries(sums);
}

/** Of all processes together. */
export function joinFailures(all: readonly Failures[]): Failures {
  const latest = (one: Failures, other: Failures) =>
    (other.failedAtMs ?? 0) > (one.failedAtMs ?? 0) ? other : one;
  const last = all.reduce(latest, NO_FAILURES);
  const { failedAtMs, why } = last;
  const answeredAtMs = Math.max(0, ...all.map((one) => one.answeredAtMs ?? 0));
  const [recoveredAtMs] = all
    .map((one) => one.recoveredAtMs ?? one.answeredAtMs ?? Number.NaN)
    .filter((atMs) => failedAtMs !== null && atMs >= failedAtMs)
    .sort((a, b) => a - b);
  const rows = all.flatMap(({ row }) => row ?? []);
  // Of a row that began before another process had an answer it is not known which calls came after that.
  const answered = Math.max(answeredAtMs, ...rows.map(({ afterMs }) => afterMs ?? 0));
  const going = rows.filter(({ sinceMs }) => sinceMs >= answered);
  const ended = all.flatMap(({ lastRow }) => lastRow ?? []).sort((a, b) => b.untilMs - a.untilMs);
  // Failures of an earlier incident of another process are not of this one.
  const same = all.filter((one) => one === last || isSameIncident(one, last.fromMs ?? failedAtMs ?? 0));
  const causes = addCauses(same);
  const begun = same.flatMap((one) => one.fromMs ?? []);
  const reportFailedAtMs = Math.max(0, ...all.map((one) => one.reportFailedAtMs ?? 0));
  const judged = all.flatMap((one) => one.judged ?? []);
  return {
    failedAtMs,
    why,
    answeredAtMs: answeredAtMs === 0 ? null : answeredAtMs,
    teams: all.flatMap(({ teams }) => teams),
    ...(reportFailedAtMs === 0 ? {} : { reportFailedAtMs }),
    ...(recoveredAtMs === undefined ? {} : { recoveredAtMs }),
    ...(begun.length === 0 ? {} : { fromMs: Math.min(...begun) }),
    ...(same.some(({ mixed }) => mixed) ? { mixed: true as const } : {}),
    ...(going.length === 0 ? {} : { row: joinRows(going) }),
    ...(ended[0] === undefined ? {} : { lastRow: ended[0] }),
    ...(Object.keys(causes).length === 0 ? {} : { causes }),
    ...(judged.length < all.length
      ? {}
      : { judged: { calls: sumOf(judged, 'calls'), before: sumOf(judged, 'before') } }),
  };
}

const joinRows = (rows: readonly NonNullable<Failures['row']>[]): NonNullable<Failures['row']> => ({
  calls: sumOf(rows, 'calls'),
  sinceMs: Math.min(...rows.map(({ sinceMs }) => sinceMs)),
  afterMs: Math.max(...rows.map(({ afterMs }) => afterMs ?? 0)) || null,
});

const sumOf = <K extends string>(all: readonly Readonly<Record<K, number>>[], name: K): number =>
  all.reduce((sum, one) => sum + one[name], 0);

/**
 * Teams whose reports failed by this part in this time, in order.
 * @param time from the start of a minute to the end of one, epoch milliseconds
 */
export function teamsHit(
  { teams }: Failures,
  wanted: FailedPart,
  time: { readonly fromMs: number; readonly untilMs: number },
): readonly string[] {
  const hit = teams.filter(
    ({ part, fromMs, atMs }) => part === wanted && fromMs <= time.untilMs && atMs >= time.fromMs,
  );
  return [...new Set(hit.map(({ team }) => team))].sort();
}

/** When reports began to fail by this part that fail by it now, of each team, epoch milliseconds. */
export const failingSince = ({ teams }: Failures, wanted: FailedPart, nowMs: number): readonly number[] =>
  teams.flatMap(({ part, fromMs, atMs }) => (part === wanted && nowMs - atMs < 60_000 ? fromMs : []));

/** When the platform answered first after the last failure; null: it has not. Epoch milliseconds. */
export function answeredAfter({ failedAtMs, answeredAtMs, recoveredAtMs }: Failures): number | null {
  return failedAtMs !== null && answeredAtMs !== null && answeredAtMs >= failedAtMs
    ? (recoveredAtMs ?? answeredAtMs)
    : null;
}

/**
 * When the failures were over: an answer ends them if all calls had failed. Of calls that fail now and then an answer shows
 * nothing: they are over when they are too few. Null: they are not over. Epoch milliseconds.
 */
export const recoveredAt = (seen: Failures): number | null => (seen.mixed ? null : answeredAfter(seen));

/** The failed calls in a row that are a warning; null: there are none. */
export const warningRow = ({ row }: Failures): Failures['row'] | null =>
  row !== undefined && row.calls >= ROW_OF_FAILURES ? row : null;

export interface FailingLimit {
  /** Failed calls, of at least so many calls. */
  readonly share: number;
  readonly ofAtLeast: number;
  /** So many failed calls in a row are enough; null: no number is. */
  readonly inRow: number | null;
}

/**
 * Which calls fail, or failed until the platform answered again, as the rest of a sentence that ends in `calls fail`; null: not
 * too many. An answer never makes them too many: it adds to the calls, but not to
 * those that there must be at least; and calls before the last failure stay counted while failed ones lapse.
 * @param counted of the last five minutes
 */
export function describeFailing(
  counted: { readonly calls: number; readonly failed: number },
  seen: Failures,
  limit: FailingLimit,
  nowMs: number,
): string | null {
  const { share: most, ofAtLeast, inRow } = limit;
  const { row, judged = { calls: counted.calls, before: counted.calls } } = seen;
  if (inRow !== null && row !== undefined && row.calls >= inRow)
    return `: the last ${row.calls} since ${clockTime(row.sinceMs, nowMs)}`;
  const [answeredMs, recoveredMs] = [answeredAfter(seen), recoveredAt(seen)];
  const enough = answeredMs === null ? judged.calls : judged.before;
  if (enough < ofAtLeast || counted.failed <= most * judged.calls) return null;
  const share = `: ${counted.failed} of ${counted.calls} within the last 5 minutes`;
  if (recoveredMs !== null) return `ed ${lastedFrom(seen.fromMs, recoveredMs, nowMs)}${share}`;
  return answeredMs === null ? share : `${share}, none since ${clockTime(answeredMs, nowMs, secondOf)}`;
}

/** Whether this condition of the platform tells of failures that are over. */
export const isOver = (platform: string): boolean => /calls failed /.test(platform);

function lastedFrom(fromMs: number | undefined, untilMs: number, nowMs: number): string {
  if (fromMs === undefined) return `until ${clockTime(untilMs, nowMs)}`;
  const lasted = betweenTimes(fromMs, untilMs, nowMs);
  return `${lasted.includes(' to ') ? 'from' : 'at'} ${lasted}`;
}

const LOOK =
  'Look at one failed request with dsp-gateway requests show <requestId>, or at all in the log or with dsp-gateway tail --outcome failed, then ask the platform (5xx, timeout, unreadable response) or check the network.';

/** What `describeFailing` says, of whichever process, as a sentence with its remedy. */
export function adviseFailing(shown: string, { share }: FailingLimit) {
  const effect = `${share < 0.5 ? 'some' : 'most'} reports that are not cached are answered with an error`;
  const [, inRow, since] = /^the last (\d+) since (.*)$/.exec(shown.slice(2)) ?? [];
  if (inRow !== undefined)
    return { says: `The last ${inRow} calls of the platform failed, since ${since}: ${effect}.`, do: LOOK };
  return { says: `Platform calls fail (${shown.slice(2)}): ${effect}.`, do: LOOK };
}

const NAMED = 3;

/** E.g. `Last failure: status 500. Teams: growth, emea, retail and 2 more.` */
export function describeFailures(why: string | null, teams: readonly string[]): string {
  return [
    ...(why === null ? [] : [`Last failure: ${why}.`]),
    ...(teams.length === 0 ? [] : [`Teams: ${someOf(teams, NAMED)}.`]),
  ].join(' ');
}
