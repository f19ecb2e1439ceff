/** Calls about the gateway as a whole: health, numbers over time, what happens and what happened. */
import Type, { type TSchema } from 'typebox';
import { OUTCOMES } from '../../outcome.js';
import { Outlook } from '../../platform/credential/outlook.js';
import { RANGE, SHOWN_LEDGER, SHOWN_SERIES } from '../../teams/series/describe.js';
import { ShownUsageDay } from '../../teams/usage/usage-day.js';
import { AuditRecord } from '../../telemetry/audit.js';
import { Check } from '../../telemetry/checks.js';
import { Verdict } from '../../telemetry/verdict.js';
import { operations, TEAM_ID } from './operation.js';
import { Stops } from './writes.js';

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const count = Type.Integer({ minimum: 0 });
const LOAD = { l1Bytes: count, l1Entries: count, callsRunning: count, callsQueued: count };
const day = (description: string) => Type.String({ format: 'date', description });
const teamOnly = Type.Optional(Type.String({ pattern: TEAM_ID, description: 'Only this one.' }));

const condition = (description: string) =>
  Type.String({ description: `${description} ok, or what is wrong in a few words.` });

/** Each part of the gateway's health. */
export const CONDITIONS = {
  store: condition('The store:'),
  credential: condition("The platform's credential:"),
  platform: condition('The platform:'),
};

const Loss = Type.Object(
  {
    at: Type.String({ format: 'date-time' }),
    outcome: Type.Enum(['restored', 'adopted', 'left'], {
      description:
        'restored: put back from memory; adopted: another one took its place; left: somebody has to act.',
    }),
    message: Type.String({ description: 'What happened, and what to do.' }),
  },
  { title: 'RegistryLoss' },
);

const StoreStatus = Type.Object({
  kind: Type.Enum(['embedded', 'redis']),
  state: CONDITIONS.store,
  reason: Type.Optional(Type.String()),
  memory: Type.Optional(
    Type.Object({
      usedBytes: nullable(count),
      maxBytes: nullable(count),
      cacheMaxBytes: nullable(count),
      full: Type.Boolean({ description: 'It refuses changes for lack of memory.' }),
    }),
  ),
  registryVersion: count,
  registryEpoch: nullable(Type.String()),
  loss: nullable(Loss),
  lastLoss: nullable(Loss),
});

const PlatformStatus = Type.Object({
  state: CONDITIONS.platform,
  callsRunning: count,
  callsQueued: count,
  pauseSeconds: count,
  pace: nullable(
    Type.Object(
      { limit: count, remaining: count, resetInSeconds: Type.Integer(), nextCallInSeconds: Type.Integer() },
      { description: 'Null while the platform shows no rate.' },
    ),
  ),
});

const RetentionStatus = Type.Object({
  endpoint: Type.String(),
  days: Type.Integer({ description: 'Age in days; what is older the platform no longer has.' }),
  source: Type.Enum(['learned', 'declared'], { description: 'declared: by platform.retentionDays.' }),
  since: nullable(
    Type.String({ format: 'date-time', description: 'When it was first seen; null: declared.' }),
  ),
});

const Status = Type.Object(
  {
    verdict: Verdict,
    version: Type.String(),
    uptimeSeconds: count,
    ready: Type.Boolean(),
    worst: Type.Object(CONDITIONS, { description: 'Each as the worst of all processes has it.' }),
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
    cache: Type.Object({ l1Bytes: count, l1Entries: count }),
    platform: PlatformStatus,
    retention: Type.Array(RetentionStatus, {
      description: 'Endpoints of which the platform has forgotten old days; those are given from history.',
    }),
    writes: Stops,
    processes: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          host: Type.String(),
          pid: Type.Integer(),
          version: Type.String(),
          ...CONDITIONS,
          ...LOAD,
          tokenId: nullable(Type.String({ description: 'Of the platform token that it asks with.' })),
          tokenSince: nullable(Type.String({ format: 'date-time' })),
        },
        { title: 'Process' },
      ),
    ),
  },
  { title: 'Status' },
);

const status = operations('status');

export const getStatus = status('getStatus', 'viewer', 'GET /admin/v1/status', 'Health at a glance', {
  answer: Status,
});

export const runDoctor = status(
  'runDoctor',
  'operator',
  'POST /admin/v1/doctor',
  'Look at everything that the gateway needs; asks the platform once',
  {
    answer: Type.Object({ version: Type.String(), checks: Type.Array(Check) }, { title: 'Checkup' }),
    about: 'The answer.',
  },
);

/** Most seconds that a tail may be told to last. */
const TAIL_SECONDS = 3600;

export const tail = status(
  'tail',
  'viewer',
  'GET /admin/v1/tail',
  'What happens on the data plane, as it happens',
  {
    query: Type.Object({
      team: Type.Optional(Type.String({ pattern: TEAM_ID, description: 'Only requests of this one.' })),
      outcome: Type.Optional(Type.Enum([...OUTCOMES], { description: 'Only requests of this one.' })),
      seconds: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: TAIL_SECONDS,
          description: 'It ends after so many; when the caller leaves, if not given.',
        }),
      ),
    }),
    answers: {
      200: {
        description:
          'A line for each answered request, blank lines while there is none, and `{"dropped": 12}` where more came than could be told.',
        headers: ['x-accel-buffering'],
        content: { 'application/x-ndjson': Type.String({ description: 'An object a line.' }) },
      },
    },
    problems: ['invalid_query', 'not_ready'],
  },
);

export const getUsage = operations('usage')(
  'getUsage',
  'viewer',
  'GET /admin/v1/usage',
  'Usage per team and day, by UTC',
  {
    query: Type.Object({
      from: Type.Optional(day('First day, by UTC; 29 days ago when not given.')),
      to: Type.Optional(day('Last day, by UTC; today when not given.')),
      team: teamOnly,
    }),
    answer: Type.Object({ from: day('First day.'), to: day('Last day.'), usage: Type.Array(ShownUsageDay) }),
    about: 'By day, then by team; days without anything are left out.',
    problems: ['invalid_query', 'not_ready'],
  },
);

const series = operations('series');

export const getSeries = series(
  'getSeries',
  'viewer',
  'GET /admin/v1/series',
  'Requests, outcomes, calls and latency over time',
  {
    query: Type.Object({
      range: RANGE,
      team: Type.Optional(Type.String({ pattern: TEAM_ID, description: 'Only this one, by the hour.' })),
    }),
    answer: SHOWN_SERIES,
    about: '1h by the minute, 24h by five minutes; 30d, and whatever is of a team, by the hour.',
    problems: ['invalid_query', 'not_ready'],
  },
);

export const getSeriesOfTeams = series(
  'getSeriesOfTeams',
  'viewer',
  'GET /admin/v1/series/teams',
  'The same by team, summed up',
  {
    query: Type.Object({ range: RANGE }),
    answer: SHOWN_LEDGER,
    about:
      'Teams of which anything was counted, by id. By whole hours: 1h is the hour under way and the one before.',
    problems: ['invalid_query', 'not_ready'],
  },
);

/** Most entries of one page. */
export const AUDIT_PAGE_MAX = 1000;
const text = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }));

export const listAudit = operations('audit')(
  'listAudit',
  'viewer',
  'GET /admin/v1/audit',
  'Who changed what, newest first',
  {
    query: Type.Object({
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: AUDIT_PAGE_MAX, description: 'How many; 100 when not given.' }),
      ),
      before: Type.Optional(Type.String({ description: 'The id of an entry: those before it.' })),
      action: Type.Optional(
        Type.String({
          pattern: '^[a-z]+(\\.[a-zA-Z_-]+)?$',
          description: 'Only this action, e.g. token.activate, or all of a kind, e.g. token.',
        }),
      ),
      actor: text('Only what this one did: the name of an admin token.'),
      search: text('Only entries that have this text anywhere, however it is written.'),
      team: Type.Optional(
        Type.String({ pattern: TEAM_ID, description: 'Only changes of this team and of its keys.' }),
      ),
      since: Type.Optional(
        Type.String({ description: 'Only what was done at this time or later: an ISO date or time.' }),
      ),
    }),
    answer: Type.Object({
      entries: Type.Array(
        Type.Object(
          { id: Type.String(), ...AuditRecord.schema.properties },
          { title: 'AuditEntry', description: 'Without secrets.' },
        ),
      ),
      next: Type.Union([Type.String(), Type.Null()], {
        description: 'What to give as before for the next page; null: there is none.',
      }),
    }),
    about: 'Entries, newest first.',
    problems: ['invalid_query', 'not_ready'],
  },
);

/** A hundred years either way; beyond it dates leave the range that is accepted anywhere. */
const MAX_OFFSET_MS = 100 * 366 * 86_400_000;

export const moveClock = operations('test')(
  'moveClock',
  'operator',
  'PUT /admin/v1/clock',
  'Move "now" on all replicas',
  {
    body: Type.Object(
      {
        offsetMs: Type.Integer({
          minimum: -MAX_OFFSET_MS,
          maximum: MAX_OFFSET_MS,
          description: 'Milliseconds added to the machine clock.',
        }),
      },
      { additionalProperties: false },
    ),
    answer: Type.Object({ offsetMs: Type.Integer(), now: Type.String({ format: 'date-time' }) }),
    about: 'Moved.',
  },
);
