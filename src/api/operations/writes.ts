/** Calls about guarded writes: stop and resume, budgets, writes with an unknown outcome. */
import Type from 'typebox';
import { Stop } from '../../teams/write-guard/brake.js';
import { Refusal } from '../../teams/write-guard/refusals.js';
import { closed, instant, nullable, text, titled } from '../openapi/schemas.js';
import { OF_TEAM, operations } from './operation.js';

const Order = closed({
  team: Type.Optional(text('Id of the team; all teams by default.')),
  reason: Type.String({
    minLength: 1,
    maxLength: 300,
    // Shown on every page, in problems and in logs: one line.
    pattern: '^[^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$',
    description: 'Reason shown in the audit log, in the console and to callers whose writes are refused.',
  }),
});

export const Stops = titled('WriteStops', {
  all: nullable(Stop, 'The stop for all teams; null: none.'),
  teams: Type.Array(Type.Intersect([Type.Object({ team: Type.String() }), Stop]), {
    description: 'Teams with a stop of their own, even while all are stopped.',
  }),
});

const Writes = titled('Writes', {
  ...Stops.properties,
  refused: Type.Array(Refusal, {
    description:
      'The last 50 that a guard or a stop refused on any replica, newest first; without the store, those known to this process.',
  }),
});

export const UnknownWrite = titled('UnknownWrite', {
  id: Type.String(),
  team: Type.String(),
  route: text('E.g. POST /api/v1/campaign/create.'),
  day: text("The day it is charged to, in the platform's time zone."),
  amount: nullable(Type.Number(), 'Null if the rule has no budget.'),
  currency: nullable(Type.String(), "Currency of the rule's budget; null if it names none."),
  at: instant('When the gateway started to send it.'),
  why: text('Why the outcome is unknown.'),
});

const Outcome = Type.Enum(['happened', 'not'], {
  description:
    'happened: the platform executed it, so it stays charged; not: it did not, so the amount is returned to the budget of its day.',
});

export const Budget = titled('WriteBudget', {
  route: text('Route of the rule, e.g. POST /api/v1/campaign/create.'),
  day: Type.String({ format: 'date', description: "Today, in the platform's time zone." }),
  maxPerDay: Type.Number({ description: 'Budget of the rule, in whole units of its currency.' }),
  left: Type.Number({ description: 'Remaining budget, in the same unit.' }),
  currency: nullable(Type.String(), 'Null: the rule names none, so the body decides.'),
});

const describe = operations('writes');

export const getWrites = describe('getWrites', 'viewer', 'GET /admin/v1/writes', {
  summary: 'Which writes are stopped, and which were refused last',
  answer: Writes,
});

export const stopWrites = describe('stopWrites', 'operator', 'POST /admin/v1/writes/stop', {
  summary: 'Stop writes of one team or of all',
  body: Order,
  answer: Stops,
  about: 'Stopped: in this process at once, in all others within a second.',
  problems: ['not_found', 'conflict'],
});

export const resumeWrites = describe('resumeWrites', 'operator', 'POST /admin/v1/writes/resume', {
  summary: 'Resume stopped writes',
  body: Order,
  answer: Stops,
  about: 'Resumed; other stops stay in force.',
  problems: ['conflict'],
});

export const listUnknownWrites = describe('listUnknownWrites', 'viewer', 'GET /admin/v1/writes/unknown', {
  summary: 'Writes with an unknown outcome',
  answer: Type.Object({ writes: Type.Array(UnknownWrite) }),
  about: 'Oldest first.',
  problems: ['not_ready'],
});

export const settleWrite = describe('settleWrite', 'operator', 'POST /admin/v1/writes/settle', {
  summary: 'Record the outcome of an unknown write',
  body: closed({
    id: Type.String({ minLength: 1, maxLength: 100, description: 'Id of an unknown write.' }),
    outcome: Outcome,
  }),
  answer: Type.Object({ settled: UnknownWrite, outcome: Outcome }),
  problems: ['not_found', 'conflict'],
});

export const getWriteBudgets = describe(
  'getWriteBudgets',
  'viewer',
  'GET /admin/v1/teams/:id/write-budgets',
  {
    summary: 'Remaining write budgets of a team today',
    path: OF_TEAM,
    answer: Type.Object({
      budgets: Type.Array(Budget, { description: 'One per rule with maxPerDay.' }),
    }),
    about: 'In the order of the guard; empty if the team has no guard.',
    problems: ['not_found', 'write_guard_unavailable'],
  },
);
