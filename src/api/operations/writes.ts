/** Calls about guarded writes: stopped and resumed, budgets, and writes of unknown outcome. */
import Type from 'typebox';
import { Stop } from '../../teams/write-guard/brake.js';
import { OF_TEAM, operations } from './operation.js';

const Order = Type.Object(
  {
    team: Type.Optional(Type.String({ description: 'Of this team alone; absent: of all teams.' })),
    reason: Type.String({
      minLength: 1,
      maxLength: 300,
      // Shown on every page, in problems and in logs: one line.
      pattern: '^[^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$',
      description: 'Why, for the audit, the console and those whose writes are refused.',
    }),
  },
  { additionalProperties: false },
);

/** What is stopped. */
export const Stops = Type.Object(
  {
    all: Type.Union([Stop, Type.Null()], { description: 'Of every team; null: not stopped for all.' }),
    teams: Type.Array(Type.Intersect([Type.Object({ team: Type.String() }), Stop]), {
      description: 'Teams stopped by themselves, also while all are.',
    }),
  },
  { title: 'WriteStops' },
);

export const UnknownWrite = Type.Object(
  {
    id: Type.String(),
    team: Type.String(),
    route: Type.String({ description: 'E.g. POST /api/v1/campaign/create.' }),
    day: Type.String({ description: 'The day it is charged to, where the platform is.' }),
    amount: Type.Union([Type.Number(), Type.Null()], { description: 'null where the rule has no budget.' }),
    currency: Type.Union([Type.String(), Type.Null()], {
      description: "Of the rule's budget; null where it names none.",
    }),
    at: Type.String({ format: 'date-time', description: 'When it was about to be sent.' }),
    why: Type.String({ description: 'Why its outcome is not known.' }),
  },
  { title: 'UnknownWrite' },
);

const Outcome = Type.Enum(['happened', 'not'], {
  description:
    'happened: the platform did it, and it stays charged; not: it did not, and the amount goes back to its day.',
});

export const Budget = Type.Object(
  {
    route: Type.String({ description: 'As the guard lists it, e.g. POST /api/v1/campaign/create.' }),
    day: Type.String({ format: 'date', description: 'Today, where the platform is.' }),
    maxPerDay: Type.Number({ description: 'In whole units of the currency, as the rule has it.' }),
    left: Type.Number({ description: 'The same unit; what is charged already is the rest.' }),
    currency: Type.Union([Type.String(), Type.Null()], {
      description: 'Null: the rule names none, and a currency in the body is the caller’s.',
    }),
  },
  { title: 'WriteBudget' },
);

const describe = operations('writes');

export const getWrites = describe('getWrites', 'viewer', 'GET /admin/v1/writes', 'Whose writes are stopped', {
  answer: Stops,
  about: 'Whose writes are stopped.',
});

export const stopWrites = describe(
  'stopWrites',
  'operator',
  'POST /admin/v1/writes/stop',
  'Stop writes, of all teams or of one',
  {
    body: Order,
    answer: Stops,
    about: 'Stopped, here at once and everywhere within a second.',
    problems: ['not_found', 'conflict'],
  },
);

export const resumeWrites = describe(
  'resumeWrites',
  'operator',
  'POST /admin/v1/writes/resume',
  'Resume writes that were stopped',
  { body: Order, answer: Stops, about: 'Resumed; other stops stay in force.', problems: ['conflict'] },
);

export const listUnknownWrites = describe(
  'listUnknownWrites',
  'viewer',
  'GET /admin/v1/writes/unknown',
  'Writes of which nobody knows whether they happened',
  {
    answer: Type.Object({ writes: Type.Array(UnknownWrite) }),
    about: 'Oldest first.',
    problems: ['not_ready'],
  },
);

export const settleWrite = describe(
  'settleWrite',
  'operator',
  'POST /admin/v1/writes/settle',
  'Say whether a write of unknown outcome happened',
  {
    body: Type.Object(
      {
        id: Type.String({
          minLength: 1,
          maxLength: 100,
          description: 'Of a write that is listed as unknown.',
        }),
        outcome: Outcome,
      },
      { additionalProperties: false },
    ),
    answer: Type.Object({ settled: UnknownWrite, outcome: Outcome }),
    problems: ['not_found', 'conflict'],
  },
);

export const getWriteBudgets = describe(
  'getWriteBudgets',
  'viewer',
  'GET /admin/v1/teams/:id/write-budgets',
  'What a team’s writes may still cost today',
  {
    path: OF_TEAM,
    answer: Type.Object({
      budgets: Type.Array(Budget, { description: 'Of rules with maxPerDay alone.' }),
    }),
    about: 'In the order of the guard; none where the team has no guard.',
    problems: ['not_found', 'write_guard_unavailable'],
  },
);
