/** `dsp-gateway status`, `usage` and `audit`. */
import { Option } from 'commander';
import { type AuditEntry, toldOf } from '../api/operations/audit-sentence.js';
import type { AnswerOf } from '../api/operations/operation.js';
import { getStatus, getUsage, listAudit } from '../api/operations/overview.js';
import { getTeam } from '../api/operations/teams.js';
import {
  bytes,
  costOf,
  costOfIncident,
  failedReportsOf,
  incidentOf,
  isToldByFinding,
  momentIn,
  readSpan,
  sentence,
  span,
  spanOf,
  versionOf,
} from '../lib/words.js';
import { USAGE_FIELDS } from '../teams/usage/usage-day.js';
import { call, steps } from './call-command.js';
import { CommandError, EXIT, Unreachable } from './command-error.js';
import { show } from './define.js';
import { readId } from './flags.js';
import { counted, until } from './span.js';
import { type Columns, linesOf, renderFields, renderHanging, renderRows } from './table.js';
import { describeNotes, endWith, renderFinding, START, saysOf, withColours } from './verdict.js';

export const addStatusCommand = steps({
  name: 'status',
  operation: getStatus,
  description: `Show the state of the gateway, with remedies; exit code 0: well or starting, ${EXIT.warning}: warning, ${EXIT.notWell}: not well. A note, e.g. of a key that ends soon, does not change it; doctor warns of such a key.`,
  examples: ['status', 'status --json | jq .verdict'],
  async run({ send, terminal: plain, options }) {
    const terminal = withColours(plain);
    const status = await send({}).catch((error: unknown) => {
      if (!(error instanceof Unreachable)) throw error;
      const finding = { level: 'not well', says: saysOf(error), do: START };
      const shown = { verdict: { level: 'not well', findings: [finding] } };
      show(terminal, options, shown, () => renderFinding(finding, terminal.nowMs()));
      return null;
    });
    if (status === null) return endWith('not well');
    show(terminal, options, status, (all) => describeStatus(all, terminal.nowMs()));
    endWith(status.verdict.level);
  },
});

function describeStatus(status: AnswerOf<typeof getStatus>, nowMs: number): string {
  const { verdict, worst, uptimeSeconds, replicas, store, credential, cache, platform } = status;
  const { retention = [], notes = [] } = status;
  const found = verdict.findings.map((one) => renderFinding(one, nowMs)).join('');
  const { callsRunning, callsQueued } = platform;
  const expires =
    credential.expiresAt === null
      ? ''
      : `, expires on ${credential.expiresAt.slice(0, 10)} (${until(credential.expiresAt, nowMs)}${credential.expiryKnown === false ? ', assumed' : ''})`;
  const lines = renderFields([
    ['token', `${worst.credential.replace('unproven', 'not verified')}${expires}`],
    ['platform', `${worst.platform}; ${counted(callsRunning, 'call')} running, ${callsQueued} waiting`],
    ['reports', costOf(status)],
    ...retention.map(({ endpoint, days, source }): [string, string] => [
      'retention',
      `${endpoint}: the platform has no rows older than ${days} days (${source}); they are served from history`,
    ]),
    ...describeUndeclared(status),
    ...describeKinds(status),
    ...describeIncidents(status, nowMs),
    ['store', `${worst.store}, ${store.kind}`],
    ['cache', `${counted(cache.l1Entries, 'answer')} in memory, ${bytes(cache.l1Bytes)}`],
    ['processes', `${replicas}, version ${versionOf(status)}, up for ${span(uptimeSeconds)}`],
  ]);
  const whole =
    verdict.since === undefined || isToldByFinding(verdict.findings)
      ? ''
      : `${sentence(verdict.level).slice(0, -1)} since ${momentIn(Date.parse(verdict.since), nowMs)}.\n`;
  const well = verdict.recovered?.says.replace('Well', 'WELL') ?? 'WELL';
  return `${found === '' ? `${well}\n` : found}${whole}${describeNotes(notes)}\n${lines}`;
}

function describeUndeclared({ undeclaredParameters: seen }: AnswerOf<typeof getStatus>): [string, string][] {
  if (seen === null) return [];
  if (seen.length === 0) return [['undeclared', 'observed; nothing would be refused so far']];
  return seen.map(({ team, endpoint, parameter, message }) => [
    'undeclared',
    `would be refused: ${parameter} in ${endpoint} of the team ${team}: ${message}`,
  ]);
}

/** Incidents in the text; `--json` has all. */
const SHOWN_INCIDENTS = 3;

function describeIncidents({ incidents }: AnswerOf<typeof getStatus>, nowMs: number): [string, string][] {
  if (incidents === null) return [['incidents', 'not known: the store does not answer']];
  return incidents.slice(0, SHOWN_INCIDENTS).flatMap((one) =>
    describeIncident(one, nowMs)
      .flatMap((part) => linesOf(part, INCIDENT_WIDTH))
      .map((line, at): [string, string] => [at === 0 ? 'incident' : '', line]),
  );
}

/** With the names of fields, lines have at most 100 characters. */
const INCIDENT_WIDTH = 88;
/** So many letters of a request id are enough to show it. */
const ID_LETTERS = 8;

/** When and why, whose reports, and where they are. */
function describeIncident(
  one: NonNullable<AnswerOf<typeof getStatus>['incidents']>[number],
  nowMs: number,
): string[] {
  const { failedReports, requestIds = [] } = one;
  // It can be pasted, so it is broken as in a shell.
  const { until, ...where } = failedReportsOf(one);
  const flags = Object.entries(where).map(([name, value]) => ` --${name} ${value}`);
  const [first, ...ids] = requestIds.map((id) => id.slice(0, ID_LETTERS));
  const rest = failedReports - requestIds.length;
  const more = requestIds.length === 0 ? 'all' : `and ${rest} more`;
  return [
    `${spanOf(one, nowMs)}: ${incidentOf(one)};`,
    costOfIncident(one),
    ...(first === undefined ? [] : [`one of them: dsp-gateway requests show ${first}`]),
    ...(ids.length === 0 ? [] : [`others: ${ids.join(', ')}`]),
    ...(rest > 0
      ? [`${more}: dsp-gateway requests list${flags.join('')}${until === undefined ? '' : ' \\'}`]
      : []),
    ...(rest > 0 && until !== undefined ? [`--until ${until}`] : []),
  ];
}

/** Kinds of reports in the text: those that are not cached by day. */
const SHOWN_KINDS = 5;

function describeKinds({ divisibility: kinds }: AnswerOf<typeof getStatus>): [string, string][] {
  const others = kinds.filter(({ state }) => state !== 'proven');
  const byDay = kinds.length - others.length;
  const rest = others.length - SHOWN_KINDS;
  return [
    [
      'by day',
      byDay === 0
        ? 'no report is cached by day yet'
        : `${counted(byDay, 'kind')} of reports, proven to add up`,
    ],
    ...others
      .slice(0, SHOWN_KINDS)
      .map(({ endpoint, split, inWords }): [string, string] => [
        '',
        `${endpoint ?? 'unknown'} by ${split?.join(', ') ?? 'unknown'}: ${inWords}`,
      ]),
    ...(rest > 0
      ? [['', `and ${rest} more: the Cache page of the console lists all`] as [string, string]]
      : []),
  ];
}

export const addUsageCommand = steps({
  name: 'usage',
  operation: getUsage,
  description:
    'Show usage per team and day (UTC). calls: platform calls; hit rate: share of reports answered from the cache; failed ones are misses.',
  examples: ['usage --by team', 'usage --team growth', 'usage --from 2026-11-01 --to 2026-11-30 --json'],
  flags: {
    from: { about: 'first day, YYYY-MM-DD (default: 29 days ago)' },
    to: { about: 'last day (default: today)' },
    team: { flag: '--team <team>', about: 'only this team', read: readId },
  },
  own: (added) =>
    added.addOption(
      new Option('--by <what>', 'a line per day and team, or per team')
        .choices(['day', 'team'])
        .default('day'),
    ),
  async run({ values, send, admin, terminal, options }) {
    const used = await send(values);
    const { team } = values;
    // A deleted team may have usage. An unknown team is refused here.
    if (team !== undefined && used.usage.length === 0) await admin.ask(getTeam, { id: team as string });
    if ((options as { readonly by?: string }).by === 'team')
      show(terminal, options, { ...used, usage: byTeam(used.usage) }, (shown) =>
        describeUsage(shown, USAGE_COLUMNS),
      );
    else show(terminal, options, used, (shown) => describeUsage(shown, ['day', ...USAGE_COLUMNS]));
  },
});

type UsageDay = AnswerOf<typeof getUsage>['usage'][number];
type Sums = Pick<UsageDay, (typeof USAGE_FIELDS)[number]>;
/** A day of a team, a team, or all. */
type Line = Sums & { readonly day?: string; readonly team: string | null };

const sumOf = (lines: readonly Sums[]): Sums =>
  Object.fromEntries(
    USAGE_FIELDS.map((field) => [field, lines.reduce((sum, line) => sum + line[field], 0)]),
  ) as Sums;

/** The most platform calls first. */
const byTeam = (usage: readonly UsageDay[]) =>
  [...new Set(usage.map(({ team }) => team))]
    .map((team) => ({ team, ...sumOf(usage.filter((day) => day.team === team)) }))
    .sort((one, other) => other.upstreamCalls - one.upstreamCalls);

const USAGE_COLUMNS: Columns<Line> = [
  'team',
  ['hit rate', hitRate],
  ...(['requests', 'hits', 'stale', 'misses'] as const),
  ['calls', 'upstreamCalls'],
  ['saved', 'upstreamCallsSaved'],
  'rows',
  ['bytes', 'bytesOut'],
  'errors',
  ['limited', 'rateLimited'],
];

/** Stale answers count as hits. */
function hitRate({ hits, stale, misses }: Line): string | null {
  const asked = hits + stale + misses;
  return asked === 0 ? null : `${Math.round(((hits + stale) / asked) * 100)} %`.padStart('hit rate'.length);
}

function describeUsage(
  { from, to, usage }: { readonly from: string; readonly to: string; readonly usage: readonly Line[] },
  columns: Columns<Line>,
): string {
  if (usage.length === 0) return `There were no requests from ${from} to ${to}.\n`;
  const all = columns.includes('day') ? { day: 'all', team: null } : { team: 'all' };
  return renderRows<Line>([...usage, { ...all, ...sumOf(usage) }], columns);
}

export const addAuditCommand = call({
  name: 'audit',
  operation: listAudit,
  description:
    'Show the audit, newest first, with what was changed and attempts that failed; --json has all values before and after.',
  examples: [
    'audit --limit 20',
    'audit --action token --since 7d',
    'audit --team growth --json | jq ".[].before"',
  ],
  flags: {
    limit: { about: 'number of entries, at most 1000', usual: 50 },
    before: { flag: '--before <id>', about: 'entries older than this one' },
    action: {
      flag: '--action <action>',
      about: 'one action, e.g. token.activate, or a group, e.g. token',
    },
    actor: {
      flag: '--actor <name>',
      about: 'changes by this admin token, or by person: all people with a company account',
    },
    team: { flag: '--team <team>', about: 'changes of this team and its keys', read: readId },
    since: {
      flag: '--since <time>',
      about: 'entries since an ISO date or time, or for a duration such as 30min, 24h or 7d',
    },
  },
  prepare: ({ values, terminal }) =>
    values.since === undefined
      ? values
      : { ...values, since: sinceOf(String(values.since), terminal.nowMs()) },
  json: ({ entries }) => entries,
  render: ({ entries, next }, { terminal }) =>
    entries.length === 0
      ? 'There are no matching entries.\n'
      : `${entries.map((entry) => describeEntry(entry, terminal.columns)).join('')}${next === null ? '' : `older ones: --before ${next}\n`}`,
});

/** @param columns of the terminal; undefined: a line each, however long */
function describeEntry(entry: AuditEntry, columns?: number): string {
  const { at, address } = entry;
  const said = `${toldOf(entry)}${address === null ? '' : ` (from ${address})`}`;
  return renderHanging(`${at.slice(0, 19)}Z`, said, columns);
}

/** A duration counts back from now. A date is parsed by the gateway. */
export function sinceOf(text: string, nowMs: number): string {
  const seconds = readSpan(text);
  if (seconds !== null) return new Date(nowMs - seconds * 1000).toISOString();
  if (/^\d{4}-/.test(text)) return text;
  throw new CommandError(
    '--since must be an ISO date or time, e.g. 2026-11-01, or a duration such as 30min, 24h or 7d',
    EXIT.data,
  );
}
