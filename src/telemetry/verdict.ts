/**
 * What an operator is told first: is the gateway well, and if not, what is wrong since when, and what to do. Made of
 * what the gateway knows anyway; nothing is asked for it. Pure.
 */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../lib/record.js';
import type { Conditions, HealthPart } from './health.js';

export const LEVELS = ['well', 'warning', 'not well'] as const;
export type Level = (typeof LEVELS)[number];

const Finding = Type.Object(
  {
    level: Type.Enum(['warning', 'not well']),
    part: Type.Enum(['store', 'credential', 'platform', 'log', 'secrets', 'writes', 'gateway']),
    says: Type.String({ description: 'What is wrong, and what it means.' }),
    do: Type.String({ description: 'What to do about it.' }),
  },
  { title: 'Finding' },
);
type Finding = Frozen<Static<typeof Finding>>;

export const Verdict = Type.Object(
  {
    level: Type.Enum([...LEVELS], { description: 'The worst of the findings.' }),
    findings: Type.Array(Finding, { description: 'The worst first.' }),
  },
  { title: 'Verdict' },
);
export type Verdict = Frozen<Static<typeof Verdict>>;

export interface VerdictFacts {
  readonly ready: boolean;
  /** Each part as the worst of all processes has it. */
  readonly conditions: Conditions;
  readonly storeKind: 'redis' | 'embedded';
  /** What the store said last, where it failed. */
  readonly storeReason?: string;
  readonly token: {
    /** ISO times; null where there is none. */
    readonly expiresAt: string | null;
    readonly refusedAt: string | null;
    readonly expiryKnown: boolean | null;
    /** When the gateway renews it by itself; null: it does not. */
    readonly renewsAt: string | null;
  };
  readonly logFailure?: string;
  /** A line for each file of a secret whose present content is not in use. */
  readonly secretFaults: readonly string[];
  /** Writes that operators have stopped. */
  readonly writeStops: readonly WriteStop[];
}

interface WriteStop {
  /** Null: of all teams. */
  readonly team: string | null;
  readonly by: string;
  /** ISO */
  readonly at: string;
  readonly reason: string;
}

export function verdictOf(facts: VerdictFacts): Verdict {
  const found = [
    ...credentialFindings(facts),
    ...storeFindings(facts),
    ...platformFindings(facts.conditions.platform),
    ...facts.writeStops.map(stopFinding),
    ...facts.secretFaults.map(secretFinding),
    ...(facts.logFailure === undefined ? [] : [logFinding(facts.logFailure)]),
  ];
  const findings =
    facts.ready || found.some(({ level }) => level === 'not well') ? found : [...found, NOT_READY];
  const sorted = [...findings].sort((a, b) => LEVELS.indexOf(b.level) - LEVELS.indexOf(a.level));
  return { level: sorted[0]?.level ?? 'well', findings: sorted };
}

const ROTATE = 'dsp-gateway token rotate --expires <date>';
const CACHED_ALONE = 'cached reports are served, all else is refused';

function credentialFindings({ conditions, token }: VerdictFacts): readonly Finding[] {
  const part = 'credential';
  const bad = (says: string): readonly Finding[] => [{ level: 'not well', part, says, do: ROTATE }];
  switch (conditions.credential) {
    case 'ok':
      return [];
    case 'missing':
      return bad('there is no platform token, so the platform cannot be asked');
    case 'refused':
      return bad(`the platform refuses the token${since(token.refusedAt)}: ${CACHED_ALONE}`);
    case 'expired':
      return bad(
        token.expiryKnown === false
          ? `the token is a year old${since(token.expiresAt)}, after which the platform's tokens end`
          : `the token has expired${since(token.expiresAt)}: ${CACHED_ALONE}`,
      );
    case 'expiring':
      return [{ level: 'warning', part, says: expiring(token), do: ROTATE }];
    case 'unproven':
      return [
        {
          level: 'warning',
          part,
          says: 'the platform has not answered to the token yet: whether it works is not known',
          do: 'dsp-gateway doctor, which asks the platform, or ask for a report',
        },
      ];
    default:
      return [unknownFinding(part, conditions.credential)];
  }
}

function expiring({ expiresAt, expiryKnown, renewsAt }: VerdictFacts['token']): string {
  const when = `the token expires on ${expiresAt?.slice(0, 10) ?? 'a day that is not known'}`;
  const assumed = expiryKnown === false ? ' (assumed: a year after it was first seen)' : '';
  return `${when}${assumed}${renewsAt === null ? '' : ', and its renewal has failed so far'}`;
}

function storeFindings({ conditions, storeKind, storeReason }: VerdictFacts): readonly Finding[] {
  const part = 'store';
  const name = storeKind === 'redis' ? 'Redis' : 'the embedded store';
  const reason = storeReason === undefined ? '' : ` (${storeReason})`;
  switch (conditions.store) {
    case 'ok':
      return [];
    case 'slow':
      return [
        {
          level: 'warning',
          part,
          says: `${name} answers late${reason}: reports are served, and fewer come from the cache`,
          do:
            storeKind === 'redis'
              ? "look at Redis's load and at the network"
              : 'look at the disk and its load',
        },
      ];
    case 'away':
      return [
        {
          level: 'not well',
          part,
          says: `${name} cannot be reached${reason}: known keys are accepted for auth.maxStaleSeconds, and no change can be made`,
          do:
            storeKind === 'redis' ? 'start Redis, or mend REDIS_URL' : 'look at the disk of GATEWAY_DATA_DIR',
        },
      ];
    case 'out of memory':
      return [
        {
          level: 'not well',
          part,
          says: `${name} is full: changes are refused and new answers are not kept`,
          do: "raise Redis's maxmemory, or dsp-gateway cache purge --all",
        },
      ];
    case 'registry lost':
      return [
        {
          level: 'not well',
          part,
          says: 'the store has lost teams and keys: those in memory go on being accepted, and no change can be made',
          do: 'dsp-gateway registry export --out kept.json, then dsp-gateway registry import kept.json --replace (or a backup)',
        },
      ];
    default:
      return [unknownFinding(part, conditions.store)];
  }
}

/** These texts hold numbers. */
function platformFindings(text: string): readonly Finding[] {
  const part = 'platform';
  if (text === 'ok') return [];
  if (text === 'answers in pages')
    return [
      {
        level: 'warning',
        part,
        says: 'the platform gave a report in pages within the last day, of which one was served (pages_left) and none is kept: rows are missing',
        do: 'look at the log for its endpoint; ask with the parameter for larger pages, where the platform has one, or for shorter periods',
      },
    ];
  if (text.startsWith('paused'))
    return [
      {
        level: 'warning',
        part,
        says: `the platform asked to be left alone (${text}): cached reports are served`,
        do: "wait; when it recurs, lower platform.maxConcurrent or the teams' upstreamCallsPerDay",
      },
    ];
  if (text.startsWith('failing'))
    return [
      {
        level: 'not well',
        part,
        says: `the platform fails (${text}): ${CACHED_ALONE}`,
        do: "see that the platform is up, and that the gateway's machine reaches PLATFORM_BASE_URL; the gateway goes on trying by itself",
      },
    ];
  return [unknownFinding(part, text)];
}

function unknownFinding(part: HealthPart, text: string): Finding {
  const says = `another process says of its ${part}: ${text}`;
  return { level: 'not well', part, says, do: 'look at its log; it may be of another release' };
}

const stopFinding = ({ team, by, at, reason }: WriteStop): Finding => ({
  level: 'warning',
  part: 'writes',
  says: `writes of ${team === null ? 'all teams' : `the team ${team}`} are stopped${since(at)} by ${by}: ${reason}`,
  do: `when it is settled: dsp-gateway writes resume${team === null ? '' : ` --team ${team}`} --reason <why>`,
});

const secretFinding = (message: string): Finding => ({
  level: 'warning',
  part: 'secrets',
  says: `${message}; the value before it stays in use`,
  do: 'mend the file; it is read again every second',
});

const logFinding = (reason: string): Finding => ({
  level: 'warning',
  part: 'log',
  says: `the log cannot be written (${reason}), so lines are lost`,
  do: 'see to it that standard output is read and its disk has room',
});

const NOT_READY: Finding = {
  level: 'not well',
  part: 'gateway',
  says: 'the gateway is not ready: it is starting or stopping, or has no worker',
  do: 'wait a moment; else look at its log',
};

/** ` since 14:02 UTC`, with the day, for it may have been another one. */
function since(isoTime: string | null): string {
  return isoTime === null ? '' : ` since ${isoTime.slice(0, 10)} ${isoTime.slice(11, 16)} UTC`;
}
