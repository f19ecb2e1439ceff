/** The last failure of platform calls and whose reports failed: of one process, and of all together. Pure. */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../lib/record.js';

const timeMs = Type.Union([Type.Number({ description: 'Milliseconds since 1970.' }), Type.Null()]);

export const Failures = Type.Object(
  {
    failedAtMs: timeMs,
    why: Type.Union([Type.String({ description: 'Of the last failed platform call.' }), Type.Null()]),
    answeredAtMs: timeMs,
    teams: Type.Array(Type.String(), { description: 'Whose reports failed within the last five minutes.' }),
  },
  { title: 'Failures', description: 'The last failed platform call, and an answer after it.' },
);
export type Failures = Frozen<Static<typeof Failures>>;

export const NO_FAILURES: Failures = { failedAtMs: null, why: null, answeredAtMs: null, teams: [] };

/** Of all processes together. */
export function joinFailures(all: readonly Failures[]): Failures {
  const latest = (one: Failures, other: Failures) =>
    (other.failedAtMs ?? 0) > (one.failedAtMs ?? 0) ? other : one;
  const { failedAtMs, why } = all.reduce(latest, NO_FAILURES);
  const answeredAtMs = Math.max(0, ...all.map((one) => one.answeredAtMs ?? 0));
  return {
    failedAtMs,
    why,
    answeredAtMs: answeredAtMs === 0 ? null : answeredAtMs,
    teams: [...new Set(all.flatMap(({ teams }) => teams))].sort(),
  };
}

/** When the platform failed last, if it has answered since; null: it has not. Epoch milliseconds. */
export function failedUntil({ failedAtMs, answeredAtMs }: Failures): number | null {
  return failedAtMs !== null && answeredAtMs !== null && answeredAtMs >= failedAtMs ? failedAtMs : null;
}

const NAMED = 3;

/** E.g. `Last failure: status 500. Teams: growth, emea and 2 others.` */
export function describeFailures({ why, teams }: Failures): string {
  const rest = teams.length - NAMED + 1;
  const named = rest <= 1 ? teams.join(', ') : `${teams.slice(0, NAMED - 1).join(', ')} and ${rest} others`;
  return [
    ...(why === null ? [] : [`Last failure: ${why}.`]),
    ...(teams.length === 0 ? [] : [`Teams: ${named}.`]),
  ].join(' ');
}
