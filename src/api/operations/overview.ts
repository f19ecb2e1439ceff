/** Calls about the gateway as a whole: health, statistics, tail, audit. */
import Type from 'typebox';
import { FAILED_PARTS, OUTCOMES } from '../../outcome.js';
import { Outlook } from '../../platform/credential/outlook.js';
import { RANGE, SHOWN_LEDGER, SHOWN_SERIES } from '../../teams/series/describe.js';
import { ShownUsageDay } from '../../teams/usage/usage-day.js';
import { AuditRecord } from '../../telemetry/audit.js';
import { Check } from '../../telemetry/checks.js';
import { Failures } from '../../telemetry/failures.js';
import { Since } from '../../telemetry/health.js';
import { Incident } from '../../telemetry/incidents.js';
import { LimitRefusals } from '../../telemetry/limit-refusals.js';
import { RefusedCalls } from '../../telemetry/refused-keys.js';
import { Verdict } from '../../telemetry/verdict.js';
import { closed, instant, integer, nullable, SHOWN_ACCOUNT, text, time, titled } from '../openapi/schemas.js';
import { ofTeam, operations } from './operation.js';
import { FORECAST } from './own.js';
import { Stops } from './writes.js';

const count = Type.Integer({ minimum: 0 });
const CALLS = {
  callsRunning: count,
  callsQueued: count,
  recentCalls: Type.Integer({ minimum: 0, description: 'Within the last five minutes.' }),
  recentFailedCalls: Type.Integer({
    minimum: 0,
    description: 'Of them, failed: 5xx, network error, timeout, or invalid response.',
  }),
};
const REPORTS = {
  recentReports: Type.Integer({ minimum: 0, description: 'Reports within the last five minutes.' }),
  recentFailedReports: Type.Integer({ minimum: 0, description: 'Of them, could not be answered.' }),
  recentWithoutSlot: Type.Integer({
    minimum: 0,
    description: 'Requests within the last five minutes whose platform call got no free slot.',
  }),
};
const LOAD = { l1Bytes: count, l1Entries: count, ...CALLS, ...REPORTS };
const day = (description: string) => Type.String({ format: 'date', description });

const condition = (description: string) =>
  Type.String({ description: `${description} ok, or the problem in a few words.` });

export const CONDITIONS = {
  store: condition('The store:'),
  credential: condition("The platform's credential:"),
  platform: condition('The platform:'),
};

const Loss = titled('RegistryLoss', {
  at: time,
  outcome: Type.Enum(['restored', 'adopted', 'left'], {
    description:
      'restored: restored from memory; adopted: replaced by another registry; left: an operator has to act.',
  }),
  message: text('What happened, and what to do.'),
});

const StoreStatus = Type.Object({
  kind: Type.Enum(['embedded', 'redis']),
  state: CONDITIONS.store,
  reason: Type.Optional(Type.String()),
  memory: Type.Optional(
    Type.Object({
      usedBytes: nullable(count),
      maxBytes: nullable(count),
      cacheMaxBytes: nullable(count),
      full: Type.Boolean({ description: 'The store rejects writes: it is out of memory.' }),
    }),
  ),
  registryVersion: count,
  registryEpoch: nullable(Type.String()),
  loss: nullable(Loss),
  lastLoss: nullable(Loss),
});

const PlatformStatus = Type.Object({
  state: CONDITIONS.platform,
  ...CALLS,
  pauseSeconds: count,
  pace: nullable(
    Type.Object(
      { limit: count, remaining: count, resetInSeconds: Type.Integer(), nextCallInSeconds: Type.Integer() },
      { description: 'Null while the platform sends no rate headers.' },
    ),
  ),
});

const RetentionStatus = Type.Object({
  endpoint: Type.String(),
  days: Type.Integer({ description: 'The platform no longer has data older than this.' }),
  source: Type.Enum(['learned', 'declared'], { description: 'declared: set by platform.retentionDays.' }),
  since: nullable(instant('When it was first observed; null: declared.')),
});

const NOTES = Type.Array(Type.String(), {
  description:
    'What to know though it changes no level: a token that waits for its activation, keys that end within 14 days (`doctor` warns of them), at most five teams that their limits refuse or that have used up their platform calls of the day, and at most five keys that teams go on using though they are revoked, expired or replaced.',
});

const Status = titled('Status', {
  verdict: Verdict,
  notes: NOTES,
  version: Type.String(),
  commit: Type.Optional(text('Of the build; absent: not known.')),
  uptimeSeconds: count,
  dataUrl: nullable(
    Type.String(),
    'Where the data plane listens, http://host:port, without proxies before it; null: not known to this process.',
  ),
  ready: Type.Boolean(),
  worst: Type.Object(CONDITIONS, { description: 'Worst state among all processes.' }),
  replicas: count,
  store: StoreStatus,
  credential: Outlook,
  log: Type.Object({
    state: Type.Enum(['ok', 'failing']),
    reason: Type.Optional(Type.String()),
    droppedLines: count,
  }),
  secretFiles: Type.Object({
    state: Type.Enum(['ok', 'faulty']),
    faulty: Type.Optional(Type.Array(Type.Object({ name: Type.String(), message: Type.String() }))),
  }),
  cache: Type.Object({
    l1Bytes: count,
    l1Entries: count,
    reports: Type.Array(
      titled('CachedReports', {
        endpoint: Type.String(),
        advertiserId: SHOWN_ACCOUNT,
        requests: Type.Integer({ minimum: 0, description: 'Answered since the start.' }),
        hits: Type.Integer({ minimum: 0, description: 'Of them, from the cache.' }),
        answers: Type.Integer({ minimum: 0, description: 'In memory.' }),
        bytes: count,
        freshUntil: nullable(time, 'When the first fresh answer in memory expires; null: there is none.'),
      }),
      { description: 'Of the process that answers; the 100 biggest in memory.' },
    ),
  }),
  platform: PlatformStatus,
  reports: Type.Object({
    recent: REPORTS.recentReports,
    recentFailed: REPORTS.recentFailedReports,
    noneFailedSince: Type.Optional(
      instant('The minute since which none has failed; absent: one failed in the current minute.'),
    ),
  }),
  retention: Type.Array(RetentionStatus, {
    description: 'Endpoints whose old days the platform has deleted; those are served from history.',
  }),
  undeclaredParameters: nullable(
    Type.Array(
      titled('UndeclaredParameter', {
        team: Type.String(),
        endpoint: Type.String(),
        parameter: Type.String(),
        message: text('What `refuse` would say of it.'),
        lastSeen: instant('Hour of the last such request that was not cached as a query.'),
      }),
    ),
    'What report.limitedTeams.undeclared: refuse would refuse, of the last seven days; null: it is refused.',
  ),
  divisibility: Type.Array(
    titled('DivisibilityInStatus', {
      endpoint: nullable(Type.String()),
      split: nullable(Type.Array(Type.String())),
      state: Type.Enum(['unknown', 'proving', 'proven', 'refuted']),
      inWords: text('Why it is so, and what is missing.'),
    }),
    { description: 'Kinds of reports that are cached by day, or not yet; those that are not stand first.' },
  ),
  writes: Stops,
  incidents: nullable(
    Type.Array(Incident),
    'The last incidents, newest first, at most 20 of 30 days; null: the store does not answer.',
  ),
  processes: Type.Array(
    titled('Process', {
      id: Type.String(),
      host: Type.String(),
      pid: Type.Integer(),
      version: Type.String(),
      ...CONDITIONS,
      ...LOAD,
      since: Type.Object(
        {
          store: nullable(Since),
          credential: nullable(Since),
          platform: nullable(Since),
          whole: nullable(Since),
        },
        {
          description:
            'Since when each part is not well, over all processes, as this one knows; whole: since when all of them together are so bad, or the oldest part that is.',
        },
      ),
      failures: Failures,
      limitRefusals: Type.Array(LimitRefusals),
      refusedKeys: Type.Array(RefusedCalls),
      tokenId: nullable(text('Id of the platform token in use.')),
      tokenSince: nullable(time),
    }),
  ),
});

const status = operations('status');

export const getStatus = status('getStatus', 'viewer', 'GET /admin/v1/status', {
  summary: 'Health at a glance',
  answer: Status,
});

export const runDoctor = status('runDoctor', 'operator', 'POST /admin/v1/doctor', {
  summary: 'Check everything the gateway needs; one platform call, a few if it refuses a report',
  answer: titled('Checkup', { version: Type.String(), checks: Type.Array(Check), notes: NOTES }),
  about: 'The results.',
});

export const tail = status('tail', 'viewer', 'GET /admin/v1/tail', {
  summary: 'Live stream of requests on the data plane',
  query: Type.Object({
    team: ofTeam('Only requests of this team.'),
    outcome: Type.Optional(Type.Enum([...OUTCOMES], { description: 'Only requests with this outcome.' })),
    seconds: Type.Optional(integer(1, 3600, 'Duration; by default until the caller disconnects.')),
  }),
  answers: {
    200: {
      description:
        'One line per answered request, blank lines in between, and `{"dropped": 12}` for requests left out under load.',
      headers: ['x-accel-buffering'],
      content: { 'application/x-ndjson': text('One JSON object per line.') },
    },
  },
  problems: ['invalid_query', 'not_found', 'not_ready'],
});

/** Also the lines of the tail. */
export const FailedRequest = titled('FailedRequest', {
  at: instant('When it was answered.'),
  team: nullable(Type.String(), 'Also of a key that was revoked or has expired; null: without a known key.'),
  key: nullable(Type.String()),
  method: Type.String(),
  path: text('Without its query.'),
  report: Type.Optional(
    titled('RequestedReport', {
      endpoint: Type.String(),
      advertiserId: nullable(Type.String(), 'The first one in the request; null: none.'),
      from: nullable(day('First day.'), 'Null: no period.'),
      to: nullable(day('Last day.')),
      split: Type.Optional(Type.Array(Type.String())),
      target: Type.Optional(
        text('To repeat it by GET; absent if it has a body, unknown names or much text.'),
      ),
    }),
  ),
  status: Type.Integer(),
  outcome: nullable(Type.String()),
  code: Type.Optional(text('Of the problem.')),
  title: Type.Optional(text('The code in words.')),
  cause: Type.Optional(
    text(
      'Why the platform call failed that the problem is due to, in a few words; absent: it is not due to one.',
    ),
  ),
  via: Type.Optional(text('Its protocol, if not plain HTTP.')),
  platformCalls: count,
  ms: Type.Number(),
  rows: count,
  bytes: count,
  requestId: Type.String(),
});

export const findRequest = status('findRequest', 'viewer', 'GET /admin/v1/requests/:id', {
  summary: 'A failed request of the data plane, by its id',
  path: {
    id: 'requestId of the problem, which is also `x-request-id` of the answer; or its first characters, at least six, if only one begins so.',
  },
  answer: FailedRequest,
  about: 'The request.',
  problems: ['not_found'],
});

export const listRequests = status('listRequests', 'viewer', 'GET /admin/v1/requests', {
  summary: 'Requests of the data plane that were answered with a problem, newest first',
  query: Type.Object({
    outcome: Type.Optional(
      Type.Enum([...OUTCOMES], {
        description: 'Only requests with this outcome, e.g. failed: reports that could not be answered.',
      }),
    ),
    part: Type.Optional(
      Type.Enum([...FAILED_PARTS, 'token'], {
        description:
          'Only reports that failed by this part, as those of its `incidents` in `status`; token is the credential.',
      }),
    ),
    code: Type.Optional(text('Only those answered with the problem of this code, e.g. rate_limited.')),
    team: ofTeam('Only requests of this team.'),
    since: Type.Optional(text('Only requests at or after this ISO date or time.')),
    until: Type.Optional(text('Only requests at or before this ISO date or time.')),
    limit: Type.Optional(integer(1, 200, 'Number of requests; 50 by default.')),
  }),
  answer: Type.Object({
    requests: Type.Array(FailedRequest),
    more: Type.Integer({ minimum: 0, description: 'Further ones beyond the limit.' }),
    searched: Type.Integer({ description: 'Processes that have answered.' }),
    processes: Type.Integer({ description: 'All processes; each keeps its last 2,000.' }),
  }),
  about: 'Those in memory of the running processes; older ones are in the log.',
  problems: ['invalid_query', 'not_found'],
});

export const getUsage = operations('usage')('getUsage', 'viewer', 'GET /admin/v1/usage', {
  summary: 'Usage per team and UTC day',
  query: Type.Object({
    from: Type.Optional(day('First UTC day; 29 days ago by default.')),
    to: Type.Optional(day('Last UTC day; today by default.')),
    team: ofTeam('Only this team.'),
  }),
  answer: Type.Object({ from: day('First day.'), to: day('Last day.'), usage: Type.Array(ShownUsageDay) }),
  about: 'By day, then by team; days without usage are omitted.',
  problems: ['invalid_query', 'not_ready'],
});

const series = operations('series');
export const getSeries = series('getSeries', 'viewer', 'GET /admin/v1/series', {
  summary: 'Requests, outcomes, calls and latency over time',
  query: Type.Object({ range: RANGE, team: ofTeam('Only this team, hourly.') }),
  answer: Type.Object({
    ...SHOWN_SERIES.properties,
    failedReports: Type.Optional(
      Type.Object(
        { ofIncidents: count, outside: count },
        {
          title: 'FailedReports',
          description:
            'All of `outcomes.failed`: those of `incidents` in `status`, and others; absent for one team.',
        },
      ),
    ),
    forecast: FORECAST,
  }),
  about: '1h: per minute; 24h: per five minutes; 30d and any team: hourly.',
  problems: ['invalid_query', 'not_ready'],
});

export const getSeriesOfTeams = series('getSeriesOfTeams', 'viewer', 'GET /admin/v1/series/teams', {
  summary: 'The same as sums per team',
  query: Type.Object({ range: RANGE }),
  answer: SHOWN_LEDGER,
  about:
    'Teams with any activity, by id, and requests without a valid key; their sums are those of all requests in the range.',
  problems: ['invalid_query', 'not_ready'],
});

export const AUDIT_PAGE_MAX = 1000;
const searched = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }));

export const listAudit = operations('audit')('listAudit', 'viewer', 'GET /admin/v1/audit', {
  summary: 'Who changed what, newest first',
  query: Type.Object({
    limit: Type.Optional(integer(1, AUDIT_PAGE_MAX, 'Number of entries; 100 by default.')),
    before: Type.Optional(text('Only entries before the one with this id.')),
    action: Type.Optional(
      Type.String({
        pattern: '^[a-z]+(\\.[a-zA-Z_-]+)?$',
        description: 'Only this action, e.g. token.activate, or this group of actions, e.g. token.',
      }),
    ),
    actor: searched('Only changes made with the admin token of this name.'),
    search: searched('Only entries that contain this text; ignores case.'),
    team: ofTeam('Only changes of this team and of its keys.'),
    since: Type.Optional(text('Only changes at or after this ISO date or time.')),
  }),
  answer: Type.Object({
    entries: Type.Array(
      Type.Object(
        { id: Type.String(), ...AuditRecord.schema.properties },
        { title: 'AuditEntry', description: 'Without secrets.' },
      ),
    ),
    next: nullable(Type.String(), 'Value of before for the next page; null: this is the last page.'),
  }),
  about: 'Entries, newest first.',
  problems: ['invalid_query', 'not_ready'],
});

/** A hundred years either way; dates beyond are not accepted anywhere. */
const MAX_OFFSET_MS = 100 * 366 * 86_400_000;

export const moveClock = operations('test')('moveClock', 'operator', 'PUT /admin/v1/clock', {
  summary: 'Move "now" on all replicas',
  body: closed({
    offsetMs: integer(-MAX_OFFSET_MS, MAX_OFFSET_MS, 'Milliseconds added to the machine clock.'),
  }),
  answer: Type.Object({ offsetMs: Type.Integer(), now: time }),
  about: 'Moved.',
});
