/** The overall verdict for operators: level, findings and remedies. Computed from known state, without calls. */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../lib/record.js';
import { CONDITIONS, Finding, HEALTH_PARTS, type HealthPart, LEVELS } from './conditions.js';
import type { Conditions, ProcessHealth } from './health.js';
import type { Measured } from './measured.js';

const TimedFinding = Type.Object(
  {
    ...Finding.properties,
    since: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Since when the part has been so bad, over all processes; absent: not known.',
      }),
    ),
  },
  { title: 'TimedFinding' },
);

export const Verdict = Type.Object(
  {
    level: Type.Enum([...LEVELS], { description: 'The worst of the findings.' }),
    findings: Type.Array(TimedFinding, { description: 'The worst first.' }),
  },
  { title: 'Verdict' },
);
export type Verdict = Frozen<Static<typeof Verdict>>;

/**
 * @param ready whether this process is ready
 * @param worst the worst condition of each part over all processes
 * @param since since when each is so bad
 */
export function verdictOf(
  gateway: Measured,
  ready: boolean,
  worst: Conditions,
  since?: ProcessHealth['since'],
): Verdict {
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
      const known = isHealthPart(found.part) ? (since?.[found.part] ?? null) : null;
      return known === null ? found : { ...found, since: known.at };
    })
    .sort((a, b) => LEVELS.indexOf(b.level) - LEVELS.indexOf(a.level));
  return { level: sorted[0]?.level ?? 'well', findings: sorted };
}

/** For callers without a key: of the parts that processes share, without the store's reason, which may hold an address. */
export function publicFindings(gateway: Measured, ready: boolean, worst: Conditions): readonly Finding[] {
  const { reason: _reason, ...health } = gateway.store.health();
  const store: Measured['store'] = Object.assign(Object.create(gateway.store), { health: () => health });
  const { findings } = verdictOf({ ...gateway, store }, ready, worst);
  return findings.filter(({ part }) => part === 'gateway' || isHealthPart(part));
}

const isHealthPart = (part: string): part is HealthPart => HEALTH_PARTS.some((known) => known === part);

export const NOT_READY: Finding = {
  level: 'not well',
  part: 'gateway',
  says: 'The gateway is not ready: it is starting, stopping, or has no worker.',
  do: 'Wait a moment; if it persists, check the log.',
};
