/** Lengths, sizes and sentences for people, with times in UTC. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** E.g. `15 minutes`: one unit, rounded; the next one from one and a half of it. Below a second `less than a second`. */
export const roughly = (ms: number): string => inOneUnit(Math.abs(ms), Math.round);

/** The same of the time until an end, rounded down: half a day more than 9 days are `9 days`, as in `9 d 12 h`. */
export const timeLeft = (ms: number): string => inOneUnit(Math.max(0, ms), Math.floor);

function inOneUnit(length: number, rounded: (count: number) => number): string {
  if (length < 1000) return 'less than a second';
  const units = [
    [DAY_MS, 'day'],
    [HOUR_MS, 'hour'],
    [MINUTE_MS, 'minute'],
    [1000, 'second'],
  ] as const;
  const [size, name] = units.find(([unit]) => length >= 1.5 * unit) ?? units[3];
  const count = rounded(length / size);
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** @returns the two largest units that are not zero, `3 d 4 h` */
export function span(seconds: number): string {
  let rest = Math.abs(Math.round(seconds));
  const parts = UNITS.flatMap(([unit, size]) => {
    const part = Math.floor(rest / size);
    rest -= part * size;
    return part === 0 ? [] : [`${part} ${unit}`];
  });
  const words = parts.slice(0, 2).join(' ') || '0 s';
  return seconds < 0 && parts.length > 0 ? `−${words}` : words;
}

/** A duration such as `90s`, `30min` or `30m`, `24h`, `7d`. @returns seconds, or null if invalid */
export function readSpan(text: string): number | null {
  const [, count, name] = /^([0-9]{1,9})(s|m|min|h|d)$/.exec(text) ?? [];
  const size = UNITS.find(([unit]) => unit === (name === 'm' ? 'min' : name))?.[1];
  return size === undefined ? null : Number(count) * size;
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `1.5 MiB` */
export function bytes(value: number): string {
  const step = value < 1 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(value) / 10));
  return `${(value / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${BYTE_UNITS[step]}`;
}

const timeTo = (letters: number) => (atMs: number) =>
  `${new Date(atMs).toISOString().slice(0, letters).replace('T', ' ')} UTC`;

/** `2026-11-21 14:02 UTC` */
export const minuteOf = timeTo(16);

/** `2026-11-21 14:02:33 UTC` */
export const secondOf = timeTo(19);

/** `02:48 UTC`, of another day than now `2026-11-21 14:02 UTC`. */
export function clockTime(atMs: number, nowMs: number, written = minuteOf): string {
  const [at, now] = [written(atMs), written(nowMs)];
  return at.slice(0, 10) === now.slice(0, 10) ? at.slice(11) : at;
}

/** `02:48 UTC (15 minutes)`, of another day than now `2026-11-21 14:02 UTC (8 days)`; the length is the one from or to now. */
export const momentIn = (atMs: number, nowMs: number): string =>
  `${clockTime(atMs, nowMs)} (${roughly(atMs - nowMs)})`;

/** `since 02:54 UTC (8 minutes)`, or `02:54 to 03:02 UTC (8 minutes)`, of another day than now with its date. */
export function spanOf(
  { from, until }: { readonly from: string; readonly until: string | null },
  nowMs: number,
): string {
  const fromMs = Date.parse(from);
  if (until === null) return `since ${momentIn(fromMs, nowMs)}`;
  const untilMs = Date.parse(until);
  return `${betweenTimes(fromMs, untilMs, nowMs)} (${roughly(untilMs - fromMs)})`;
}

/** `02:54 to 03:02 UTC`, within a minute `02:54 UTC`; of another day than now with its date. */
export function betweenTimes(fromMs: number, untilMs: number, nowMs: number): string {
  const begins = clockTime(fromMs, nowMs);
  return minuteOf(fromMs) === minuteOf(untilMs)
    ? begins
    : `${begins.replace(' UTC', '')} to ${clockTime(untilMs, fromMs)}`;
}

/** E.g. ` since 14:02 UTC (3 hours)`; empty for null. */
export function since(isoTime: string | null, nowMs: number): string {
  return isoTime === null ? '' : ` since ${momentIn(Date.parse(isoTime), nowMs)}`;
}

/** What an incident was: `failed calls: status 500: 12`, or its cause alone if its calls are not counted. */
export const incidentOf = ({ cause }: { readonly cause: string }): string =>
  /: \d+$/.test(cause) ? `failed calls: ${cause}` : cause;

/** What an incident cost: `12 reports failed (emea, growth)`. */
export function costOfIncident({
  failedReports,
  teams,
}: {
  failedReports: number;
  teams: readonly string[];
}): string {
  const whose = teams.length === 0 ? '' : ` (${teams.join(', ')})`;
  return `${failedReports.toLocaleString('en-US')} ${failedReports === 1 ? 'report' : 'reports'} failed${whose}`;
}

/** Where its failed reports are listed: by part, from its first minute to the end of its last one. */
export const failedReportsOf = ({
  part,
  from,
  until,
}: {
  readonly part: string;
  readonly from: string;
  readonly until: string | null;
}) => ({
  // As pages and commands call it.
  part: part === 'credential' ? 'token' : part,
  since: `${from.slice(0, 16)}Z`,
  ...(until === null ? {} : { until: `${until.slice(0, 16)}:59.999Z` }),
});

/** `a, b, c and 4 more` @param most so many are named */
export function someOf(names: readonly string[], most: number): string {
  const rest = names.length - most;
  return `${names.slice(0, most).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** A text without its first capital and its full stop, as a sentence. */
export function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.?!…]$/.test(message) ? '' : '.'}`;
}

/** Whether the only finding tells since when it lasts, so that the whole need not. */
export function isToldByFinding(findings: readonly { readonly since?: string | undefined }[]): boolean {
  const [first, ...others] = findings;
  return others.length === 0 && first?.since !== undefined;
}

/** `0.1.0`, or with the commit of the build, if that is known, `0.1.0 (3b9cda3c)`. */
export const versionOf = ({
  version,
  commit,
}: {
  readonly version: string;
  readonly commit?: string | undefined;
}) => (commit === undefined ? version : `${version} (${commit})`);

/** Where a platform token is from, by its `source`. */
export const TOKEN_SOURCES: Readonly<Record<'seed' | 'staged' | 'minted' | 'file', string>> = {
  seed: 'from the settings',
  staged: 'staged by an operator',
  minted: 'minted at the platform',
  file: 'from a file',
};

interface Counted {
  readonly reports: {
    readonly recent: number;
    readonly recentFailed: number;
    /** ISO; absent: one failed in the current minute. */
    readonly noneFailedSince?: string | undefined;
  };
  readonly replicas: number;
  readonly uptimeSeconds: number;
  readonly verdict: { readonly level: string };
}

/** What failed reports cost, in console and `status`: `3 of 10 reports failed in the last 5 minutes`. */
export function costOf({ reports, replicas, uptimeSeconds, verdict }: Counted): string {
  const { recent, recentFailed, noneFailedSince } = reports;
  // Processes keep these counts in memory.
  const isWhole = replicas > 1 || uptimeSeconds >= 300;
  const within = isWhole ? 'in the last 5 minutes' : `since the start ${span(uptimeSeconds)} ago`;
  const [all, failed] = [recent, recentFailed].map((count) => count.toLocaleString('en-US'));
  if (recent === 0) return `no report was requested ${within}`;
  if (recentFailed === 0) return `no report failed ${within}, of ${all}`;
  // While it is not well perhaps none was asked for since.
  const isOver = noneFailedSince !== undefined && verdict.level !== 'not well';
  const atMs = isOver ? Date.parse(noneFailedSince) : null;
  const over = atMs === null ? '' : `, none since ${clockTime(atMs, atMs)}`;
  return `${failed} of ${all} ${recent === 1 ? 'report' : 'reports'} failed ${within}${over}`;
}

interface Asked {
  readonly path: string;
  readonly report?:
    | {
        readonly endpoint: string;
        readonly split?: readonly string[] | undefined;
        readonly from: string | null;
        readonly to: string | null;
      }
    | undefined;
}

/** Of a request, `campaigns/get by date, campaign`; its path if it is none of a report. */
export const reportOf = ({ report, path }: Asked): string =>
  report === undefined
    ? path
    : `${report.endpoint}${report.split?.length ? ` by ${report.split.join(', ')}` : ''}`;

/** Of a request, the call that repeats it, for a shell with address and key; null: it is not kept whole. */
export const repeatOf = ({
  report,
}: {
  readonly report?: { readonly target?: string | undefined } | undefined;
}) =>
  report?.target === undefined
    ? null
    : `curl -H "x-api-key: $DSP_GATEWAY_KEY" "$GATEWAY_URL"'${report.target.replaceAll("'", '%27')}'`;

/** Of the report of a request, `2026-11-01 to 2026-11-30` or its only day; null: without. */
export function periodOf({ report }: Asked): string | null {
  if (report === undefined || report.from === null) return null;
  return report.from === report.to ? report.from : `${report.from} to ${report.to}`;
}

/** @param after of an audit entry. @returns why the attempt failed; null: it did not */
export function failureOf(after: unknown): string | null {
  const noted = after as Readonly<Record<'verified' | 'failed' | 'reason', unknown>> | null | undefined;
  if (noted?.verified !== false && noted?.failed !== true) return null;
  return String(noted.reason ?? 'The token could not be verified.');
}

/** @returns differences as JSON or null, by paths such as `limits.requestsPerMinute`; lists are compared as a whole */
export function changesOf(before: unknown, after: unknown) {
  const [was, is] = [leavesOf(before), leavesOf(after)];
  return [...new Set([...was.keys(), ...is.keys()])]
    .map((path) => ({ path, before: was.get(path) ?? null, after: is.get(path) ?? null }))
    .filter((change) => change.before !== change.after);
}

function leavesOf(value: unknown, path = '', found = new Map<string, string>()): Map<string, string> {
  if (value === undefined || (value === null && path === '')) return found;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return found.set(path, JSON.stringify(value));
  for (const [name, member] of Object.entries(value))
    leavesOf(member, path === '' ? name : `${path}.${name}`, found);
  return found;
}
