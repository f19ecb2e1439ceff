/**
 * Everything that can be wrong with a gateway, one row each: how it is recognized, how bad it is, what to tell people, and the
 * metric and alert that show it. `/readyz`, `status`, `doctor`, the console, the gauges and the test of the alert rules
 * all read this table.
 */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../lib/record.js';

/** What conditions and gauges are read from: the parts of this process. */
export interface Measured {
  readonly store: {
    readonly kind: 'redis' | 'embedded';
    health(): { readonly ok: boolean; readonly slow?: boolean; readonly reason?: string };
    memory?(): { readonly full: boolean };
  };
  readonly registry: { readonly loss: unknown };
  readonly outlook: () => {
    readonly state: string;
    /** ISO times; null where there is none. */
    readonly expiresAt: string | null;
    readonly refusedAt: string | null;
    readonly expiryKnown: boolean | null;
    /** When the gateway renews it by itself; null: it does not. */
    readonly renewsAt: string | null;
    readonly warningDays: number | null;
  };
  readonly l1: { readonly bytes: number; readonly entries: number };
  readonly budget: { readonly running: number; readonly queued: number };
  /** Platform calls that this process may make at once. */
  readonly maxConcurrent: () => number;
  readonly pause: { leftMs(): number };
  readonly pace: {
    /** Null while the platform shows no rate. */
    status(): { readonly limit: number; readonly remaining: number } | null;
    waitMs(): number;
  };
  readonly circuit: { readonly isOpen: boolean; leftMs(): number };
  /** Whether the platform gave a report in pages within the last day. */
  readonly isPaged: () => boolean;
  readonly replicas: { readonly count: number };
  /** Files of secrets whose present content is not in use. */
  readonly secretFaults: () => readonly { readonly name: string; readonly message: string }[];
  readonly brake: { stops(): { readonly all: Stop | null; readonly teams: readonly TeamStop[] } };
  /** Guarded writes of unknown outcome; null: not known. */
  readonly unknownWrites: { count(): number | null };
  readonly log: {
    health(): { readonly ok: boolean; readonly reason?: string; readonly droppedLines: number };
  };
}

interface Stop {
  readonly by: string;
  /** ISO */
  readonly at: string;
  readonly reason: string;
}

interface TeamStop extends Stop {
  readonly team: string;
}

export interface GaugeRow {
  readonly name: string;
  readonly help: string;
  /** How the values of several workers become one. */
  readonly of: 'sum' | 'min' | 'max';
  /** Null: there is nothing to show. */
  readonly read: (gateway: Measured) => number | null;
}

/** Parts whose condition every process tells the others, as a text. */
export const HEALTH_PARTS = ['store', 'credential', 'platform'] as const;
export type HealthPart = (typeof HEALTH_PARTS)[number];

export const LEVELS = ['well', 'warning', 'not well'] as const;

export const Finding = Type.Object(
  {
    level: Type.Enum(['warning', 'not well']),
    part: Type.Enum([...HEALTH_PARTS, 'log', 'secrets', 'writes', 'gateway']),
    says: Type.String({ description: 'What is wrong, and what it means.' }),
    do: Type.String({ description: 'What to do about it.' }),
  },
  { title: 'Finding' },
);
export type Finding = Frozen<Static<typeof Finding>>;

type Advice = Pick<Finding, 'says' | 'do'>;

export interface Condition {
  readonly part: Exclude<Finding['part'], 'gateway'>;
  /** What `/readyz` and status call it; what follows in the text may hold numbers. */
  readonly text: string;
  readonly level: Finding['level'];
  /** Whether this process has it. @returns the text that tells of it, or whether `text` does */
  readonly read: (gateway: Measured) => string | boolean;
  /** @param text as the process that has it tells it, which may be another one */
  readonly advice: (gateway: Measured, text: string) => Advice | readonly Advice[];
  readonly gauge?: GaugeRow;
  /** The rule of `helm/files/rules.yaml` that alerts of it; null: it is no reason to wake anybody. */
  readonly alert: string | null;
}

const ROTATE = 'dsp-gateway token rotate --expires <date>';
const CACHED_ALONE = 'cached reports are served, all else is refused';

const isRedis = ({ store }: Measured) => store.kind === 'redis';

const storeName = (gateway: Measured) => (isRedis(gateway) ? 'Redis' : 'the embedded store');

/** ` (connection refused)`; it may name an address, so it is for operators alone. */
const storeReason = ({ store }: Measured) => {
  const { reason } = store.health();
  return reason === undefined ? '' : ` (${reason})`;
};

/** From the least to the worst. */
const STORE: readonly Condition[] = [
  {
    part: 'store',
    text: 'out of memory',
    level: 'not well',
    read: ({ store }) => store.memory?.().full === true,
    advice: (gateway) => ({
      says: `${storeName(gateway)} is full: changes, purges too, are refused and new answers are not kept`,
      do: isRedis(gateway)
        ? "raise Redis's maxmemory, or remove what else fills it"
        : 'free the disk of GATEWAY_DATA_DIR',
    }),
    gauge: {
      name: 'dsp_gateway_store_out_of_memory',
      help: 'Whether the store refuses changes because its memory is used up.',
      of: 'max',
      read: ({ store }) => Number(store.memory?.().full === true),
    },
    alert: 'DspGatewayStoreFull',
  },
  {
    part: 'store',
    text: 'slow',
    level: 'warning',
    read: ({ store }) => !store.health().ok && store.health().slow === true,
    advice: (gateway) => ({
      says: `${storeName(gateway)} answers late${storeReason(gateway)}: reports are served, and fewer come from the cache`,
      do: isRedis(gateway) ? "look at Redis's load and at the network" : 'look at the disk and its load',
    }),
    alert: null,
  },
  {
    part: 'store',
    text: 'away',
    level: 'not well',
    read: ({ store }) => !store.health().ok && store.health().slow !== true,
    advice: (gateway) => ({
      says: `${storeName(gateway)} cannot be reached${storeReason(gateway)}: known keys are accepted for auth.maxStaleSeconds, and no change can be made`,
      do: isRedis(gateway) ? 'start Redis, or correct REDIS_URL' : 'look at the disk of GATEWAY_DATA_DIR',
    }),
    gauge: {
      name: 'dsp_gateway_store_up',
      help: 'Whether the store answers, be it late.',
      of: 'min',
      read: ({ store }) => Number(store.health().ok || store.health().slow === true),
    },
    alert: 'DspGatewayStoreDown',
  },
  {
    part: 'store',
    text: 'registry lost',
    level: 'not well',
    read: ({ registry }) => registry.loss !== null,
    advice: () => ({
      says: 'the store has lost teams and keys: those in memory are still accepted, and no change can be made',
      do: 'dsp-gateway registry export --out kept.json, then dsp-gateway registry import kept.json --replace (or a backup)',
    }),
    gauge: {
      name: 'dsp_gateway_registry_lost',
      help: 'Whether the store has lost the registry, and somebody has to act.',
      of: 'max',
      read: ({ registry }) => Number(registry.loss !== null),
    },
    alert: 'DspGatewayRegistryLost',
  },
];

/** A state of the token. */
function credential(
  text: string,
  level: Finding['level'],
  says: (token: ReturnType<Measured['outlook']>) => string,
  rest: Pick<Condition, 'alert' | 'gauge'> & { readonly do?: string },
): Condition {
  return {
    ...{ part: 'credential', text, level },
    read: ({ outlook }) => outlook().state === text,
    advice: ({ outlook }) => ({ says: says(outlook()), do: rest.do ?? ROTATE }),
    ...(rest.gauge === undefined ? {} : { gauge: rest.gauge }),
    alert: rest.alert,
  };
}

const CREDENTIAL: readonly Condition[] = [
  credential(
    'unproven',
    'warning',
    () => 'the platform has not answered a call with this token yet, so it is not known whether it works',
    { do: 'dsp-gateway doctor, which asks the platform, or ask for a report', alert: null },
  ),
  credential(
    'expiring',
    'warning',
    ({ expiresAt, expiryKnown, renewsAt }) => {
      const when = `the token expires on ${expiresAt?.slice(0, 10) ?? 'a day that is not known'}`;
      const assumed = expiryKnown === false ? ' (assumed: a year after it was first seen)' : '';
      return `${when}${assumed}${renewsAt === null ? '' : ', and its renewal has failed so far'}`;
    },
    {
      alert: 'DspGatewayTokenExpiresSoon',
      gauge: {
        name: 'dsp_gateway_token_expiry_warning_days',
        help: 'The lowest of 30, 14, 7, 3, 1 and 0 days before the expiry that was reached, when somebody has to act.',
        of: 'min',
        read: ({ outlook }) => outlook().warningDays,
      },
    },
  ),
  credential(
    'expired',
    'not well',
    ({ expiresAt, expiryKnown }) =>
      expiryKnown === false
        ? `the token is a year old${since(expiresAt)}, after which the platform's tokens end`
        : `the token has expired${since(expiresAt)}: ${CACHED_ALONE}`,
    { alert: 'DspGatewayTokenExpires' },
  ),
  credential(
    'refused',
    'not well',
    ({ refusedAt }) => `the platform refuses the token${since(refusedAt)}: ${CACHED_ALONE}`,
    { alert: 'DspGatewayCredentialRefused' },
  ),
  credential('missing', 'not well', () => 'there is no platform token, so the platform cannot be asked', {
    alert: 'DspGatewayTokenMissing',
    gauge: {
      name: 'dsp_gateway_token_expiry_timestamp_seconds',
      help: 'When the active platform token expires.',
      of: 'min',
      read: ({ outlook }) => {
        const { expiresAt } = outlook();
        return expiresAt === null ? null : Date.parse(expiresAt) / 1000;
      },
    },
  }),
];

const PLATFORM: readonly Condition[] = [
  {
    part: 'platform',
    text: 'answers in pages',
    level: 'warning',
    read: ({ isPaged }) => isPaged(),
    advice: () => ({
      says: 'the platform gave a report in pages within the last day, of which one was served (pages_left) and none is kept: rows are missing',
      do: 'look at the log for its endpoint; ask with the parameter for larger pages, where the platform has one, or for shorter periods',
    }),
    alert: null,
  },
  {
    part: 'platform',
    text: 'paused',
    level: 'warning',
    read: ({ pause }) => pause.leftMs() > 0 && `paused for ${Math.ceil(pause.leftMs() / 1000)} s`,
    advice: (_, text) => ({
      says: `the platform asked to be left alone (${text}): cached reports are served`,
      do: "wait; when it recurs, lower platform.maxConcurrent or the teams' upstreamCallsPerDay",
    }),
    gauge: {
      name: 'dsp_gateway_platform_pause_seconds',
      help: 'Time left of the pause the platform asked for.',
      of: 'max',
      read: ({ pause }) => pause.leftMs() / 1000,
    },
    alert: 'DspGatewayPlatformLimits',
  },
  {
    part: 'platform',
    text: 'failing',
    level: 'not well',
    read: ({ circuit }) => {
      if (!circuit.isOpen) return false;
      const leftS = Math.ceil(circuit.leftMs() / 1000);
      return `failing; asked again ${leftS > 0 ? `in ${leftS} s` : 'by the next call'}`;
    },
    advice: (_, text) => ({
      says: `the platform fails (${text}): ${CACHED_ALONE}`,
      do: "see that the platform is up, and that the gateway's machine reaches PLATFORM_BASE_URL; the gateway retries by itself",
    }),
    gauge: {
      name: 'dsp_gateway_platform_circuit_open',
      help: 'Whether calls are suspended because the platform keeps failing.',
      of: 'max',
      read: ({ circuit }) => Number(circuit.isOpen),
    },
    alert: 'DspGatewayPlatformCircuitOpen',
  },
];

const stopsOf = ({ brake }: Measured) => {
  const { all, teams } = brake.stops();
  return [...(all === null ? [] : [{ team: null, ...all }]), ...teams];
};

/** Of this process alone. */
const OWN: readonly Condition[] = [
  {
    part: 'writes',
    text: 'stopped',
    level: 'warning',
    read: (gateway) => stopsOf(gateway).length > 0,
    advice: (gateway) =>
      stopsOf(gateway).map(({ team, by, at, reason }) => ({
        says: `writes of ${team === null ? 'all teams' : `the team ${team}`} are stopped${since(at)} by ${by}: ${reason}`,
        do: `when it is settled: dsp-gateway writes resume${team === null ? '' : ` --team ${team}`} --reason <why>`,
      })),
    gauge: {
      name: 'dsp_gateway_writes_stopped',
      help: 'Stops of writes in force: that of all teams, and those of single teams.',
      of: 'max',
      read: (gateway) => stopsOf(gateway).length,
    },
    alert: 'DspGatewayWritesStopped',
  },
  {
    part: 'secrets',
    text: 'faulty',
    level: 'warning',
    read: ({ secretFaults }) => secretFaults().length > 0,
    advice: ({ secretFaults }) =>
      secretFaults().map(({ name, message }) => ({
        says: `${name}: ${message}; the value before it stays in use`,
        do: 'correct the file; it is read again every second',
      })),
    gauge: {
      name: 'dsp_gateway_secret_files_faulty',
      help: 'Files of secrets whose present content is not in use, for it cannot be read or is not allowed.',
      of: 'max',
      read: ({ secretFaults }) => secretFaults().length,
    },
    alert: 'DspGatewaySecretFileFaulty',
  },
  {
    part: 'log',
    text: 'failing',
    level: 'warning',
    read: ({ log }) => !log.health().ok,
    advice: ({ log }) => ({
      says: `the log cannot be written (${log.health().reason ?? 'no reason given'}), so lines are lost`,
      do: 'see to it that standard output is read and its disk has room',
    }),
    gauge: {
      name: 'dsp_gateway_log_up',
      help: 'Whether lines of the log can be written.',
      of: 'min',
      read: ({ log }) => Number(log.health().ok),
    },
    alert: 'DspGatewayLogLost',
  },
];

/** Of each part from the least to the worst, in the order in which a verdict tells them. */
export const CONDITIONS: readonly Condition[] = [...CREDENTIAL, ...STORE, ...PLATFORM, ...OWN];

/** ` since 14:02 UTC`, with the day, for it may have been another one. */
function since(isoTime: string | null): string {
  return isoTime === null ? '' : ` since ${isoTime.slice(0, 10)} ${isoTime.slice(11, 16)} UTC`;
}
