/**
 * Everything that can be wrong with a gateway, one row each: detection, level, text, remedy, metric and alert. Read by
 * `/readyz`, `status`, `doctor`, the console, the gauges and the test of the alert rules.
 */
import { momentIn, since, someOf, span, timeLeft } from '../lib/words.js';
import { adviseFailing, describeFailing, type FailingLimit, ROW_OF_FAILURES } from './failures.js';
import type { Advice, Condition, Finding } from './finding.js';
import type { Measured } from './measured.js';

/** How an operator replaces the token, by a command that can be pasted. */
export const rotate = ({ canMint }: Pick<Measured, 'canMint'>): string =>
  canMint
    ? "Run dsp-gateway token rotate --mint; if the platform issues none, dsp-gateway token rotate asks for one from the platform's dashboard."
    : "Copy a new token from the platform's dashboard, and run dsp-gateway token rotate, which asks for it.";

const CHECK_DISK = 'Check the disk of the data folder (GATEWAY_DATA_DIR) and its load.';
const CACHED_ONLY = 'only cached reports are served';
const TRIED_AGAIN = '; the next report that is not cached calls it again, and so does dsp-gateway doctor.';

const isRedis = ({ store }: Measured) => store.kind === 'redis';

const storeName = (gateway: Measured) => (isRedis(gateway) ? 'Redis' : 'The embedded store');

/** E.g. ` (connection refused)`. It may contain an address, so it is shown to operators only. */
const storeReason = ({ store }: Measured) => {
  const { reason } = store.health();
  return reason === undefined ? '' : ` (${reason})`;
};

/** A process whose own store is well tells what holds of the others. */
function keysWithoutStore({ keysUntilMs, clock }: Measured): string {
  const [untilMs, nowMs] = [keysUntilMs(), clock.now()];
  const keys = untilMs > nowMs ? 'known keys are accepted until' : 'no key has been accepted since';
  return `${keys} ${momentIn(untilMs, nowMs)}`;
}

/** In order of severity, the worst last. */
const STORE: readonly Condition[] = [
  {
    ...{ part: 'store', text: 'history full', level: 'warning' },
    read: ({ store }) => (store.days?.room()?.excessBytes ?? 0) > 0,
    advice: () => ({
      says: 'The Redis of the registry uses more than 85 % of its memory: earlier states of days are removed from history, and above 90 % no days are stored.',
      do: 'Raise maxmemory of that Redis, or delete other data in it.',
    }),
    alert: 'DspGatewayHistoryFull',
  },
  {
    ...{ part: 'store', text: 'out of memory', level: 'not well' },
    read: ({ store }) => store.memory?.().full === true,
    advice: (gateway) => ({
      says: `${storeName(gateway)} is full: changes and purges are refused, and new reports are not cached.`,
      do: isRedis(gateway)
        ? 'Raise maxmemory of Redis, or delete other data in it.'
        : 'Free disk space in the data folder (GATEWAY_DATA_DIR).',
    }),
    gauge: {
      name: 'dsp_gateway_store_out_of_memory',
      help: 'Whether the store refuses changes because it is out of memory.',
      of: 'max',
      read: ({ store }) => Number(store.memory?.().full === true),
    },
    alert: 'DspGatewayStoreFull',
  },
  {
    ...{ part: 'store', text: 'slow', level: 'warning' },
    read: ({ store }) => !store.health().ok && store.health().slow === true,
    advice: (gateway) => ({
      says: `${storeName(gateway)} is slow${storeReason(gateway)}: reports are served, but fewer of them from the cache.`,
      do: isRedis(gateway) ? 'Check the load of Redis and the network to it.' : CHECK_DISK,
    }),
    alert: null,
  },
  {
    ...{ part: 'store', text: 'away', level: 'not well' },
    read: ({ store }) => !store.health().ok && store.health().slow !== true,
    advice: (gateway) => ({
      says: `${storeName(gateway)} is unavailable${storeReason(gateway)}: ${keysWithoutStore(gateway)}, and changes are refused.`,
      do: isRedis(gateway) ? 'Start Redis, or correct REDIS_URL.' : CHECK_DISK,
    }),
    gauge: {
      name: 'dsp_gateway_store_up',
      help: 'Whether the store responds, even slowly.',
      of: 'min',
      read: ({ store }) => Number(store.health().ok || store.health().slow === true),
    },
    alert: 'DspGatewayStoreDown',
  },
  {
    ...{ part: 'store', text: 'registry lost', level: 'not well' },
    read: ({ registry }) => registry.loss !== null,
    advice: () => ({
      says: 'The store has lost teams and keys: those in memory are still accepted, and changes are refused.',
      do: 'Run dsp-gateway registry export --out kept.json, then dsp-gateway registry import kept.json --replace, or import a backup instead.',
    }),
    gauge: {
      name: 'dsp_gateway_registry_lost',
      help: 'Whether the store has lost the registry and an operator must act.',
      of: 'max',
      read: ({ registry }) => Number(registry.loss !== null),
    },
    alert: 'DspGatewayRegistryLost',
  },
];

function credential(
  text: string,
  level: Finding['level'],
  says: (token: ReturnType<Measured['outlook']>, nowMs: number) => string,
  rest: Pick<Condition, 'alert' | 'gauge'>,
): Condition {
  return {
    ...{ part: 'credential', text, level },
    read: ({ outlook }) => outlook().state === text,
    advice: (gateway) => ({ says: says(gateway.outlook(), gateway.clock.now()), do: rotate(gateway) }),
    ...rest,
  };
}

const UNPROVEN: Readonly<Record<ReturnType<Measured['awaitedProof']>, Advice>> = {
  call: {
    level: 'starting',
    says: 'The token is not verified yet: the gateway does that within seconds, with the first report or a call of its own.',
    do: 'Wait a moment.',
  },
  report: {
    level: 'starting',
    says: 'The token is not verified yet: no team lists an advertiser by its id, to verify it with.',
    do: 'Create a team with the id of an advertiser, request a report, or set PLATFORM_PROBE to the path of a cheap report.',
  },
  nothing: {
    says: 'The token is not verified yet: no platform call has succeeded with it.',
    do: 'Run dsp-gateway doctor, which calls the platform, or request a report.',
  },
};

const CREDENTIAL: readonly Condition[] = [
  {
    ...{ part: 'credential', text: 'unproven', level: 'warning' },
    read: ({ outlook }) => outlook().state === 'unproven',
    advice: ({ awaitedProof, tried }) => {
      const advice = UNPROVEN[awaitedProof()];
      if (tried === undefined || advice !== UNPROVEN.nothing) return advice;
      return { ...advice, do: `Request a report${tried}` };
    },
    alert: null,
  },
  credential(
    'expiring',
    'warning',
    ({ expiresAt, expiryKnown, renewsAt }, nowMs) => {
      if (expiresAt === null) return 'The token expires soon.';
      const left = `in ${timeLeft(Date.parse(expiresAt) - nowMs)}`;
      const assumed = expiryKnown === false ? '; assumed: one year after it was first seen' : '';
      const renewal = renewsAt === null ? '' : ', and its renewal has failed so far';
      return `The token expires on ${expiresAt.slice(0, 10)} (${left}${assumed})${renewal}.`;
    },
    {
      alert: 'DspGatewayTokenExpiresSoon',
      gauge: {
        name: 'dsp_gateway_token_expiry_warning_days',
        help: 'Lowest reached threshold of 30, 14, 7, 3, 1 and 0 days before expiry, if an operator must act.',
        of: 'min',
        read: ({ outlook }) => outlook().warningDays,
      },
    },
  ),
  credential(
    'expired',
    'not well',
    ({ expiresAt, expiryKnown }, nowMs) =>
      expiryKnown === false
        ? `The token has been in use for a year${since(expiresAt, nowMs)}, the lifetime of platform tokens: the platform may refuse it at any time.`
        : `The token has been expired${since(expiresAt, nowMs)}: ${CACHED_ONLY}.`,
    { alert: 'DspGatewayTokenExpires' },
  ),
  credential(
    'refused',
    'not well',
    ({ refusedAt }, nowMs) => `The platform refuses the token${since(refusedAt, nowMs)}: ${CACHED_ONLY}.`,
    { alert: 'DspGatewayCredentialRefused' },
  ),
  credential('missing', 'not well', () => 'There is no platform token, so the platform cannot be called.', {
    alert: 'DspGatewayTokenMissing',
    gauge: {
      name: 'dsp_gateway_token_expiry_timestamp_seconds',
      help: 'Expiry of the active platform token.',
      of: 'min',
      read: ({ outlook }) => {
        const { expiresAt } = outlook();
        return expiresAt === null ? null : Date.parse(expiresAt) / 1000;
      },
    },
  }),
];

function failingCalls(
  text: string,
  { limit, ...rest }: Pick<Condition, 'level' | 'alert' | 'gauge'> & { readonly limit: FailingLimit },
): Condition {
  return {
    ...{ ...rest, part: 'platform', text },
    read: ({ recentCalls, failures, clock }) => {
      const failing = describeFailing(recentCalls.lastMinutes(), failures(), limit, clock.now());
      return failing !== null && `${text}${failing}`;
    },
    advice: (_, shown) => adviseFailing(shown.slice(text.length), limit),
  };
}

/** As many as open the circuit by default, which counts neither the calls of checks nor those of other processes. */
const MOST_IN_ROW = 10;

const PLATFORM: readonly Condition[] = [
  {
    ...{ part: 'platform', text: 'answers in pages', level: 'warning' },
    read: ({ isPaged }) => isPaged(),
    advice: () => ({
      says: 'The platform returned a report in pages within the last day: only one page of it was served (pages_left), and nothing was cached.',
      do: 'Find the endpoint in the log, and request shorter periods, or larger pages if the platform has them.',
    }),
    alert: null,
  },
  failingCalls('calls fail', {
    limit: { share: 0.2, ofAtLeast: 10, inRow: ROW_OF_FAILURES },
    level: 'warning',
    alert: 'DspGatewayPlatformFails',
    gauge: {
      name: 'dsp_gateway_platform_recent_failed_calls',
      help: 'Platform calls within the last five minutes that failed: 5xx, network error, timeout, or invalid response.',
      of: 'sum',
      read: ({ recentCalls }) => recentCalls.lastMinutes().failed,
    },
  }),
  {
    ...{ part: 'platform', text: 'paused', level: 'warning' },
    read: ({ pause }) => pause.leftMs() > 0 && `paused for ${Math.ceil(pause.leftMs() / 1000)} s`,
    advice: (_, text) => ({
      says: `The platform asked for fewer calls (${text}): ${CACHED_ONLY} until then.`,
      do: "Wait; if it recurs, lower platform.maxConcurrent or the teams' upstreamCallsPerDay.",
    }),
    gauge: {
      name: 'dsp_gateway_platform_pause_seconds',
      help: 'Remaining pause requested by the platform.',
      of: 'max',
      read: ({ pause }) => pause.leftMs() / 1000,
    },
    alert: 'DspGatewayPlatformLimits',
  },
  failingCalls('most calls fail', {
    limit: { share: 0.5, ofAtLeast: 20, inRow: MOST_IN_ROW },
    level: 'not well',
    alert: 'DspGatewayPlatformMostlyFails',
    gauge: {
      name: 'dsp_gateway_platform_recent_calls',
      help: 'Platform calls within the last five minutes.',
      of: 'sum',
      read: ({ recentCalls }) => recentCalls.lastMinutes().calls,
    },
  }),
  {
    ...{ part: 'platform', text: 'failing', level: 'not well' },
    read: ({ circuit }) => {
      if (!circuit.isOpen) return false;
      const leftS = Math.ceil(circuit.leftMs() / 1000);
      const next = leftS > 0 ? `no call is made for ${leftS} s more` : 'the next request calls it again';
      const failed = circuit.failures === 1 ? 'a call' : `${circuit.failures} calls in a row`;
      return `failing: ${failed} failed; ${next}`;
    },
    advice: ({ tried = TRIED_AGAIN }, text) => ({
      says: `The platform is ${text.replace(';', `, so ${CACHED_ONLY};`)}.`,
      do: `Check that the platform is up and that this machine reaches PLATFORM_BASE_URL${tried}`,
    }),
    gauge: {
      name: 'dsp_gateway_platform_circuit_open',
      help: 'Whether the circuit is open: calls are suspended because the platform fails.',
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

/** Of this process only. */
const OWN: readonly Condition[] = [
  {
    ...{ part: 'slots', text: 'none free', level: 'warning' },
    read: ({ withoutSlot }) => withoutSlot() > 0,
    advice: ({ withoutSlot }) => ({
      says: `Platform calls had to wait: ${withoutSlot()} ${withoutSlot() === 1 ? 'request' : 'requests'} waited for a free slot and got none within the last 5 minutes.`,
      do: 'If the platform is slow, wait until it answers faster; else raise platform.maxConcurrent as far as the platform allows, or find with dsp-gateway requests list which team makes so many requests at once.',
    }),
    alert: null,
  },
  {
    ...{ part: 'writes', text: 'stopped', level: 'warning' },
    read: (gateway) => stopsOf(gateway).length > 0,
    advice: (gateway) =>
      stopsOf(gateway).map(({ team, by, at, reason }) => ({
        says: `Writes of ${team === null ? 'all teams' : `the team ${team}`} are stopped${since(at, gateway.clock.now())} by ${by}: “${reason}”.`,
        do: `When its cause is gone, run dsp-gateway writes resume${team === null ? '' : ` --team ${team}`} --reason <why>.`,
      })),
    gauge: {
      name: 'dsp_gateway_writes_stopped',
      help: 'Active stops of writes, of all teams and of single teams.',
      of: 'max',
      read: (gateway) => stopsOf(gateway).length,
    },
    alert: 'DspGatewayWritesStopped',
  },
  {
    ...{ part: 'sign-in', text: 'provider away', level: 'warning' },
    read: ({ provider }) => typeof provider?.fault() === 'string',
    advice: ({ provider }) => ({
      says: `The identity provider cannot be reached (${provider?.fault()}): nobody can sign in with a company account; open sessions go on.`,
      do: 'Check auth.oidc.issuer and the network to it; admin tokens and keys work.',
    }),
    gauge: {
      name: 'dsp_gateway_sign_in_provider_up',
      help: 'Whether the identity provider answered last; absent without auth.oidc.issuer.',
      of: 'min',
      read: ({ provider }) => (provider === null ? null : Number(provider.fault() === null)),
    },
    alert: 'DspGatewaySignInProviderDown',
  },
  {
    ...{ part: 'secrets', text: 'faulty', level: 'warning' },
    read: ({ secretFaults }) => secretFaults().length > 0,
    advice: ({ secretFaults }) =>
      secretFaults().map(({ name, message }) => ({
        says: `The file of ${name} cannot be used (${message}), so the previous value stays in use.`,
        do: 'Correct the file, which is read again every second.',
      })),
    gauge: {
      name: 'dsp_gateway_secret_files_faulty',
      help: 'Secret files whose current content is unreadable or invalid, and not in use.',
      of: 'max',
      read: ({ secretFaults }) => secretFaults().length,
    },
    alert: 'DspGatewaySecretFileFaulty',
  },
  {
    ...{ part: 'log', text: 'failing', level: 'warning' },
    read: ({ log }) => !log.health().ok,
    advice: ({ log }) => ({
      says: `The log cannot be written (${log.health().reason ?? 'no reason given'}), so lines are lost.`,
      do: 'Check that standard output is read, and that its disk has space.',
    }),
    gauge: {
      name: 'dsp_gateway_log_up',
      help: 'Whether the log can be written.',
      of: 'min',
      read: ({ log }) => Number(log.health().ok),
    },
    alert: 'DspGatewayLogLost',
  },
  {
    ...{ part: 'clock', text: 'apart', level: 'warning' },
    read: ({ clock }) => clock.apartMs !== 0,
    advice: ({ clock: { apartMs } }) => ({
      says: `The clock of this process is ${span(Math.abs(apartMs) / 1000)} ${apartMs < 0 ? 'ahead of' : 'behind'} the clock of Redis, so its days may begin and become final at the wrong time; nothing is removed from history.`,
      do: 'Synchronise the clocks of both machines (NTP).',
    }),
    gauge: {
      name: 'dsp_gateway_clock_apart_seconds',
      help: 'By how much the clocks of process and Redis differ if that is more than five minutes, else 0.',
      of: 'max',
      read: ({ clock }) => Math.abs(clock.apartMs) / 1000,
    },
    alert: 'DspGatewayClockApart',
  },
  {
    ...{ part: 'settings', text: 'apart', level: 'warning' },
    read: ({ settingsApart }) => settingsApart().length > 0,
    advice: ({ settingsApart }) => ({
      says: 'Processes of one Redis have different settings, so they may store different numbers for the same day, or take it as final at different times.',
      do: `Start all processes with the same ${someOf(settingsApart(), 3)}, which dsp-gateway config show prints; while new settings roll out, wait until all have them.`,
    }),
    gauge: {
      name: 'dsp_gateway_settings_apart',
      help: 'Number of settings that must be the same in all processes of a store and are not.',
      of: 'max',
      read: ({ settingsApart }) => settingsApart().length,
    },
    alert: 'DspGatewaySettingsApart',
  },
];

/** In the order of findings; within a part the worst last. */
export const CONDITIONS: readonly Condition[] = [...CREDENTIAL, ...STORE, ...PLATFORM, ...OWN];
