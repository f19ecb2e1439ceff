/** What a team's write guard allows a day, and what of it is left. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Directory } from '../auth/directory.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import { limitOf } from '../write-guard/amount.js';
import { isWriteGuard, type WriteGuard } from '../write-guard/rule.js';
import { guardUnavailable, MILLIONTHS, type Reservations } from '../write-guard/types.js';
import { noTeam } from './team-records.js';

export interface WriteBudgetsOptions {
  readonly directory: Pick<Directory, 'team'>;
  readonly reservations: Pick<Reservations, 'left'>;
}

const Budget = Type.Object(
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

const OPERATION: Operation = {
  id: 'getWriteBudgets',
  path: { id: "The team's id." },
  answers: {
    200: json(
      Type.Object({ budgets: Type.Array(Budget, { description: 'Of rules with maxPerDay alone.' }) }),
      'In the order of the guard; none where the team has no guard.',
    ),
  },
  problems: ['not_found', 'write_guard_unavailable'],
};

export function registerWriteBudgets(
  app: FastifyInstance,
  { directory, reservations }: WriteBudgetsOptions,
): void {
  const shown = shownAs('writes', 'What a team’s writes may still cost today', OPERATION);
  app.get('/admin/v1/teams/:id/write-budgets', shown, async (request) => {
    const { id } = request.params as { readonly id: string };
    const team = directory.team(id);
    if (team === undefined) throw noTeam();
    const { writeGuard = {} } = team;
    if (!isWriteGuard(writeGuard)) throw guardUnavailable(OF_ANOTHER_RELEASE);
    return { budgets: await Promise.all(budgetsOf(id, writeGuard, reservations)) };
  });
}

function budgetsOf(
  team: string,
  guard: WriteGuard,
  reservations: WriteBudgetsOptions['reservations'],
): Promise<Static<typeof Budget>>[] {
  return Object.entries(guard).flatMap(([route, { budget }]) => {
    const { maxPerDay, currency = null } = budget ?? {};
    if (maxPerDay === undefined) return [];
    const found = reservations.left(team, route, limitOf(maxPerDay));
    return [
      found.then(({ day, left }) => ({
        route,
        day,
        maxPerDay,
        left: Math.max(0, left) / MILLIONTHS,
        currency,
      })),
    ];
  });
}

const OF_ANOTHER_RELEASE =
  'Another release of the gateway wrote the write guard of the team, and this one does not know all that it says.';
