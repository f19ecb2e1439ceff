/** The overall verdict for operators: level, findings and remedies. Computed from known state, without calls. */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../lib/record.js';
import type { FailedPart } from '../outcome.js';
import { CONDITIONS } from './conditions.js';
import { describeFailures, type Failures, isOver, teamsHit } from './failures.js';
import { Finding, HEALTH_PARTS, type HealthPart, LEVELS } from './finding.js';
import type { Conditions, ProcessHealth, Since } from './health.js';
import { type Incident, minutesOf, Recovery, recoveryOf } from './incidents.js';
import type { Measured } from './measured.js';

const TimedFinding = Type.Object(
  {
    ...Finding.properties,
    since: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Since when the part has not been well, over all processes; absent: not known.',
      }),
    ),
    details: Type.Optional(
      Type.String({
        description:
          'The last failed call, the teams whose reports failed, and when a refused token is tried again.',
      }),
    ),
  },
  { title: 'TimedFinding' },
);

export const Verdict = Type.Object(
  {
    level: Type.Enum([...LEVELS], { description: 'The worst of the findings.' }),
    since: Type.Optional(
      Type.String({
        format: 'date-time',
        description:
          'Since when it has been so bad, or a part that is so bad now has not been well, over all processes; absent: not known.',
      }),
    ),
    recovered: Type.Optional(Recovery),
    findings: Type.Array(TimedFinding, { description: 'The worst first.' }),
  },
  { title: 'Verdict' },
);
export type Verdict = Frozen<Static<typeof Verdict>>;

/**
 * @param ready whether this process is ready
 * @param told the worst condition of each part over all processes
 * @param seen since when they are not well, and the failures of all processes together
 */
export function verdictOf(
  gateway: Measured,
  ready: boolean,
  told: Conditions,
  seen?: Pick<ProcessHealth, 'since' | 'failures'> & { readonly incidents?: readonly Incident[] | null },
): Verdict {
  const worst = isOver(told.platform) ? { ...told, platform: 'ok' } : told;
  const known = CONDITIONS.flatMap(({ part, text, level, read, advice }) => {
    const shown = isHealthPart(part) ? worst[part].startsWith(text) && worst[part] : read(gateway) && text;
    return shown === false ? [] : [advice(gateway, shown)].flat().map((found) => ({ level, part, ...found }));
  });
  const unknown = HEALTH_PARTS.filter(
    (part) =>
      worst[part] !== 'ok' &&
      !CONDITIONS.some((row) => row.part === part && worst[part].startsWith(row.text)),
  ).map((part): Finding => {
    const says = `Another process reports for its ${part}: ${worst[part]}.`;
    return { level: 'not well', part, says, do: 'Check its log; it may be of another release.' };
  });
  const found = [...known, ...unknown];
  const findings = ready || found.some(({ level }) => level === 'not well') ? found : [...found, NOT_READY];
  const sorted = findings
    .map((found) => {
      const known = isHealthPart(found.part) ? (seen?.since[found.part] ?? null) : null;
      const details = seen === undefined ? '' : detailsOf(found, worst, seen.failures, known);
      return {
        ...found,
        ...(known === null ? {} : { since: known.at }),
        ...(details === '' ? {} : { details }),
      };
    })
    .sort((a, b) => LEVELS.indexOf(b.level) - LEVELS.indexOf(a.level));
  const level = sorted[0]?.level ?? 'well';
  const whole = seen?.since.whole ?? null;
  const recovered = level === 'well' ? recoveryOf(seen?.incidents ?? null, gateway.clock.now()) : null;
  return {
    level,
    ...(whole?.level === level ? { since: whole.at } : {}),
    ...(recovered === null ? {} : { recovered }),
    findings: sorted,
  };
}

const TRIED_AGAIN =
  'The next request that needs the platform tries the token again, at most a minute after the last try.';

/** @param since the part has not been well */
function detailsOf(
  { part, level }: Finding,
  { platform, credential }: Conditions,
  failures: Failures,
  since: Since | null,
): string {
  const hit = (part: FailedPart) => {
    const fromMs = since === null ? 0 : minutesOf({ from: since.at, until: null }, 0).fromMs;
    return teamsHit(failures, part, { fromMs, untilMs: Number.POSITIVE_INFINITY });
  };
  if (part === 'platform' && /fail/.test(platform)) return describeFailures(failures.why, hit(part));
  if (part !== 'credential' || level !== 'not well') return '';
  // Why a platform call failed is not why the token cannot be used.
  const teams = describeFailures(null, hit(part));
  return [teams, ...(credential === 'refused' ? [TRIED_AGAIN] : [])].join(' ').trim();
}

const isHealthPart = (part: string): part is HealthPart => HEALTH_PARTS.some((known) => known === part);

const NOT_READY: Finding = {
  level: 'not well',
  part: 'gateway',
  says: 'The gateway is not ready: it is starting, stopping, or has no worker.',
  do: 'Wait a moment; if it persists, check the log.',
};
