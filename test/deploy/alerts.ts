/** What each alert is tried with: series that make it fire, and what it says then; and series that must not. */

export interface AlertCase {
  /** Series with their values, one each minute (promtool's notation). */
  readonly series: Readonly<Record<string, string>>;
  /** When it is looked at. */
  readonly at: string;
  /** Labels of the alert beside those of the rule; null: it does not fire. */
  readonly labels: Readonly<Record<string, string>> | null;
  /** What `$value` is shown as. */
  readonly shown?: string;
}

const OF = 'job="dsp-gateway",namespace="dsp"';
const A = `${OF},instance="a:9090"`;
const B = `${OF},instance="b:9090"`;
const JOB = { job: 'dsp-gateway', namespace: 'dsp' };
const REPLICA = { ...JOB, instance: 'a:9090' };

const gauge = (name: string, more = '', instance = A) =>
  `dsp_gateway_${name}{${instance}${more === '' ? '' : `,${more}`}}`;

/** A gauge that says so of one replica: fires there, and not while all is well. */
const told = (
  name: string,
  bad: string,
  good: string,
  labels: Readonly<Record<string, string>>,
): AlertCase[] => [
  { series: { [gauge(name)]: bad, [gauge(name, '', B)]: good }, at: '10m', labels, shown: bad[0] as string },
  { series: { [gauge(name)]: good, [gauge(name, '', B)]: good }, at: '10m', labels: null },
];

/** A counter that is there from the start: fires at its first step, and not while it stands, nor an age later. */
const counted = (name: string, more: string, labels: Readonly<Record<string, string>>): AlertCase[] => [
  { series: { [gauge(name, more)]: '0x20 1x200' }, at: '25m', labels, shown: '1' },
  { series: { [gauge(name, more)]: '1x200' }, at: '25m', labels: null },
  { series: { [gauge(name, more)]: '0x20 1x200' }, at: '100m', labels: null },
];

/** A counter whose series begin with a team's first: fires at a series that was not there, and not for ever. */
const begun = (name: string, more: string): AlertCase[] => [
  { series: { [gauge(name, `${more},team="growth"`)]: '_x20 1x200' }, at: '23m', labels: JOB },
  { series: { [gauge(name, `${more},team="growth"`)]: '5x20 6x200' }, at: '23m', labels: JOB },
  { series: { [gauge(name, `${more},team="growth"`)]: '_x20 1x200' }, at: '60m', labels: null },
  { series: { [gauge(name, 'outcome="hit",team="growth"')]: '0+9x200' }, at: '23m', labels: null },
];

/** So many of a hundred a minute. */
const share = (name: string, bad: string, good: string, part: number): Readonly<Record<string, string>> => ({
  [gauge(name, bad)]: `0+${part}x60`,
  [gauge(name, good)]: `0+${100 - part}x60`,
});

/** Failed and all platform calls of two replicas within five minutes. */
const recent = (...replicas: readonly (readonly [failed: number, calls: number])[]) =>
  Object.fromEntries(
    replicas.flatMap(([failed, calls], at) => {
      const of = (name: string) => gauge(name, '', [A, B][at]);
      return [
        [of('platform_recent_failed_calls'), `${failed}x60`],
        [of('platform_recent_calls'), `${calls}x60`],
      ];
    }),
  );

const BROKEN = 'plane="data",status="502",outcome="error",team="growth"';
const GIVEN = 'plane="data",status="200",outcome="hit",team="growth"';
const EXPIRY = gauge('token_expiry_timestamp_seconds');
const bucket = (le: string) =>
  gauge('request_duration_seconds_bucket', `plane="data",outcome="hit",le="${le}"`);

export const ALERTS: Readonly<Record<string, readonly AlertCase[]>> = {
  DspGatewayAbsent: [
    { series: { 'up{job="other"}': '1x60' }, at: '10m', labels: {} },
    { series: { [gauge('replicas')]: '2x60' }, at: '10m', labels: null },
    { series: { 'up{job="other"}': '1x60' }, at: '3m', labels: null },
  ],
  DspGatewayReplicaDown: [
    { series: { [`up{${A}}`]: '0x60', [`up{${B}}`]: '1x60' }, at: '10m', labels: REPLICA },
    { series: { [`up{${A}}`]: '1x60', 'up{job="other",instance="a:1"}': '0x60' }, at: '10m', labels: null },
  ],
  DspGatewayTokenMissing: [
    { series: { [gauge('store_up')]: '1x60' }, at: '10m', labels: JOB },
    // One replica knows of it: the others will.
    {
      series: { [gauge('store_up')]: '1x60', [gauge('store_up', '', B)]: '1x60', [EXPIRY]: '9x60' },
      at: '10m',
      labels: null,
    },
  ],
  DspGatewayTokenExpiresSoon: [
    ...told('token_expiry_warning_days', '7x60', '30x60', JOB),
    { series: { [gauge('token_expiry_warning_days')]: '3x60' }, at: '10m', labels: null },
    // Nobody has to act: there is no such gauge.
    { series: { [EXPIRY]: '9x60' }, at: '10m', labels: null },
  ],
  DspGatewayTokenExpires: [
    ...told('token_expiry_warning_days', '3x60', '7x60', JOB),
    ...told('token_expiry_warning_days', '0x60', '7x60', JOB),
  ],
  DspGatewayCredentialRefused: begun('platform_calls_total', 'outcome="credential-refused"'),
  DspGatewayPlatformFails: [
    { series: recent([3, 5], [1, 5]), at: '5m', labels: JOB, shown: '40%' },
    { series: recent([1, 5], [1, 5]), at: '5m', labels: null },
    { series: recent([9, 9], [0, 0]), at: '5m', labels: null },
    // Nothing is asked: nothing fails.
    { series: recent([0, 0], [0, 0]), at: '5m', labels: null },
  ],
  DspGatewayPlatformMostlyFails: [
    { series: recent([11, 11], [0, 9]), at: '5m', labels: JOB, shown: '55%' },
    { series: recent([10, 11], [0, 9]), at: '5m', labels: null },
    { series: recent([19, 19], [0, 0]), at: '5m', labels: null },
  ],
  DspGatewayPlatformCircuitOpen: told('platform_circuit_open', '1x60', '0x60', JOB),
  DspGatewayPlatformLimits: [
    { series: { [gauge('platform_pause_seconds')]: '90x60' }, at: '5m', labels: JOB, shown: '1m 30s' },
    { series: { [gauge('platform_pause_seconds')]: '20x60' }, at: '5m', labels: null },
  ],
  DspGatewayCallsQueue: [
    {
      series: { [gauge('platform_calls_queued')]: '60x60', [gauge('platform_calls_queued', '', B)]: '70x60' },
      at: '5m',
      labels: JOB,
      shown: '130',
    },
    { series: { [gauge('platform_calls_queued')]: '60x60' }, at: '5m', labels: null },
  ],
  DspGatewayErrors: [
    { series: share('requests_total', BROKEN, GIVEN, 10), at: '20m', labels: JOB, shown: '10%' },
    { series: share('requests_total', BROKEN, GIVEN, 2), at: '20m', labels: null },
    // Refusals are the callers' own.
    { series: share('requests_total', BROKEN.replace('502', '403'), GIVEN, 50), at: '20m', labels: null },
  ],
  DspGatewayServesOldAnswers: begun('requests_total', 'outcome="stale-if-error"'),
  DspGatewaySlowHits: [
    {
      series: { [bucket('0.5')]: '0+0x60', [bucket('1')]: '0+9x60', [bucket('+Inf')]: '0+9x60' },
      at: '40m',
      labels: JOB,
      shown: '995ms',
    },
    { series: { [bucket('0.5')]: '0+9x60', [bucket('+Inf')]: '0+9x60' }, at: '40m', labels: null },
  ],
  DspGatewayStoreDown: told('store_up', '0x60', '1x60', REPLICA),
  DspGatewayStoreFull: told('store_out_of_memory', '1x60', '0x60', JOB),
  DspGatewayHistoryFull: told('history_full', '1x60', '0x60', JOB),
  DspGatewayStoreDamaged: [
    ...counted('store_faults_total', 'kind="damaged"', JOB),
    { series: { [gauge('store_faults_total', 'kind="unavailable"')]: '0+1x60' }, at: '25m', labels: null },
  ],
  DspGatewayRegistryLost: told('registry_lost', '1x60', '0x60', JOB),
  DspGatewayWrongNumbers: [
    ...counted('truth_days_total', 'verdict="wrong"', JOB),
    { series: { [gauge('truth_days_total', 'verdict="restated"')]: '0+1x60' }, at: '25m', labels: null },
  ],
  DspGatewayHistoryMissed: [
    ...counted('history_days_total', 'event="missed"', JOB),
    { series: { [gauge('history_days_total', 'event="appended"')]: '0+1x60' }, at: '25m', labels: null },
  ],
  DspGatewayColumnsChanged: counted('report_columns_changed_total', 'change="removed"', {
    ...JOB,
    change: 'removed',
  }),
  DspGatewayBudgetNearlySpent: [
    { series: { [gauge('budget_thresholds_total', 'percent="95"')]: '0x20 1x200' }, at: '23m', labels: JOB },
    { series: { [gauge('budget_thresholds_total', 'percent="95"')]: '0x20 1x200' }, at: '60m', labels: null },
    { series: { [gauge('budget_thresholds_total', 'percent="80"')]: '0x20 1x200' }, at: '23m', labels: null },
  ],
  DspGatewayWritesUnknown: [
    ...told('writes_unknown', '3x60', '0x60', JOB),
    // It is shared: one that was settled at once is none.
    { series: { [gauge('writes_unknown')]: '0 1 0x60' }, at: '5m', labels: null },
  ],
  DspGatewayWritesStopped: told('writes_stopped', '1x60', '0x60', JOB),
  DspGatewayLogLost: told('log_up', '0x60', '1x60', REPLICA),
  DspGatewayClockApart: told('clock_apart_seconds', '9x60', '0x60', REPLICA),
  // Settings roll out within a quarter of an hour.
  DspGatewaySettingsApart: [
    ...told('settings_apart', '1x60', '0x60', JOB).map((one) => ({ ...one, at: '20m' })),
    { series: { [gauge('settings_apart')]: '1x60' }, at: '10m', labels: null },
  ],
  DspGatewaySignInProviderDown: told('sign_in_provider_up', '0x60', '1x60', JOB),
  DspGatewaySecretFileFaulty: told('secret_files_faulty', '1x60', '0x60', JOB),
};
