/** Guarded writes: stop and resume, unknown outcomes, remaining budgets. */
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { Clock } from '../../lib/clock.js';
import type { Services } from '../../server/services.js';
import { limitOf, MILLIONTHS } from '../../teams/write-guard/amount.js';
import { guardUnavailable, type ReservationBook } from '../../teams/write-guard/reservations.js';
import { isWriteGuard, type WriteGuard } from '../../teams/write-guard/rule.js';
import { type Actor, auditLine, noteEvent } from '../../telemetry/audit.js';
import type { RequestTypes } from '../operations/operation.js';
import {
  type Budget,
  getWriteBudgets,
  getWrites,
  listUnknownWrites,
  resumeWrites,
  settleWrite,
  stopWrites,
  type UnknownWrite,
} from '../operations/writes.js';
import { serve } from './serve.js';
import { noTeam } from './teams.js';

type WritesOptions = Pick<
  Services,
  'brake' | 'refusals' | 'reservations' | 'registry' | 'directory' | 'clock'
>;

export function registerWrites(app: FastifyInstance, options: WritesOptions): void {
  const { brake, refusals, reservations, directory, clock } = options;

  serve(app, getWrites, async () => ({ ...brake.stops(), refused: await refusals.list() }));
  serve(app, stopWrites, async ({ body, actor }) => {
    const { team = null, reason } = body;
    if (team !== null && directory.team(team) === undefined) throw noTeam(team, directory);
    const stop = { by: actor.name, at: new Date(clock.now()).toISOString(), reason };
    await brake.stop(team, stop, orderLine('writes.stop', body, actor, clock));
    return brake.stops();
  });
  serve(app, resumeWrites, async ({ body, actor }) => {
    const line = orderLine('writes.resume', body, actor, clock);
    await brake.resume(body.team ?? null, line);
    return brake.stops();
  });
  serve(app, listUnknownWrites, async () => ({ writes: (await reservations.unknown()).map(shown) }));
  serve(app, settleWrite, async ({ body: { id, outcome }, actor }) => {
    const settled = await reservations.settle(id, outcome, async (write) => {
      const { id: _, ...rest } = shown(write);
      const after = { ...rest, teamId: write.team, outcome };
      await noteEvent(options, { action: 'writes.settle', subject: id, after }, actor);
    });
    return { settled: shown(settled), outcome };
  });
  serve(app, getWriteBudgets, async ({ params: { id } }) => {
    const team = directory.team(id);
    if (team === undefined) throw noTeam(id, directory);
    const { writeGuard = {} } = team;
    if (!isWriteGuard(writeGuard)) throw guardUnavailable(OF_ANOTHER_RELEASE);
    return { budgets: await Promise.all(budgetsOf(id, writeGuard, reservations)) };
  });
}

function orderLine(
  action: string,
  { team, reason }: RequestTypes<typeof stopWrites>['Body'],
  actor: Actor,
  clock: Clock,
): string {
  const subject = team === undefined ? 'all teams' : `the team ${team}`;
  const after = { ...(team === undefined ? {} : { teamId: team }), reason };
  return auditLine({ action, subject, after }, actor, clock.now());
}

type Listed = Awaited<ReturnType<ReservationBook['unknown']>>[number];

function shown({ amount, atMs, ...write }: Listed): Static<typeof UnknownWrite> {
  const { id, team, route, day, currency, why } = write;
  const units = amount === null ? null : amount / MILLIONTHS;
  return { id, team, route, day, amount: units, currency, at: new Date(atMs).toISOString(), why };
}

function budgetsOf(
  team: string,
  guard: WriteGuard,
  reservations: Pick<ReservationBook, 'left'>,
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
  "The team's write guard was written by another release and has rules that this release does not know.";
