/** Writes: stopped and resumed, and those of which nobody knows whether they happened. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Directory } from '../auth/directory.js';
import { GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import { RegistryConflict } from '../store/port.js';
import type { Registry } from '../store/registry/replica.js';
import { type Actor, auditLine } from '../telemetry/audit.js';
import { type BrakeLever, Stop, type WriteStops } from '../write-guard/brake.js';
import type { ReservationBook } from '../write-guard/reservations.js';
import { MILLIONTHS } from '../write-guard/types.js';
import { changed } from './say-unconfirmed.js';
import { noTeam } from './team-records.js';

export interface WritesOptions {
  readonly brake: BrakeLever;
  readonly reservations: Pick<ReservationBook, 'unknown' | 'settle'>;
  readonly registry: Pick<Registry, 'commit'>;
  readonly directory: Pick<Directory, 'team'>;
  readonly clock: Clock;
}

const REASON = Type.String({
  minLength: 1,
  maxLength: 300,
  // Shown on every page, in problems and in logs: one line.
  pattern: '^[^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$',
  description: 'Why, for the audit, the console and those whose writes are refused.',
});

const Order = Type.Object(
  {
    team: Type.Optional(Type.String({ description: 'Of this team alone; absent: of all teams.' })),
    reason: REASON,
  },
  { additionalProperties: false },
);

const Settle = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 100, description: 'Of a write that is listed as unknown.' }),
    outcome: Type.Enum(['happened', 'not'], {
      description:
        'happened: the platform did it, and it stays charged; not: it did not, and the amount goes back to its day.',
    }),
  },
  { additionalProperties: false },
);

/** What is stopped, in answers. */
export const Stops = Type.Object(
  {
    all: Type.Union([Stop, Type.Null()], { description: 'Of every team; null: not stopped for all.' }),
    teams: Type.Array(Type.Intersect([Type.Object({ team: Type.String() }), Stop]), {
      description: 'Teams stopped by themselves, also while all are.',
    }),
  },
  { title: 'WriteStops' },
);

const Unknown = Type.Object(
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

const DESCRIBED = {
  read: { id: 'getWrites', answers: { 200: json(Stops, 'Whose writes are stopped.') } },
  stop: {
    id: 'stopWrites',
    answers: { 200: changed(Stops, 'Stopped, here at once and everywhere within a second.') },
    problems: ['not_found', 'conflict'],
  },
  resume: {
    id: 'resumeWrites',
    answers: { 200: changed(Stops, 'Resumed; other stops stay in force.') },
    problems: ['conflict'],
  },
  unknown: {
    id: 'listUnknownWrites',
    answers: { 200: json(Type.Object({ writes: Type.Array(Unknown) }), 'Oldest first.') },
    problems: ['not_ready'],
  },
  settle: {
    id: 'settleWrite',
    answers: { 200: changed(Type.Object({ settled: Unknown, outcome: Settle.properties.outcome })) },
    problems: ['not_found', 'conflict'],
  },
} as const satisfies Record<string, Operation>;

export function registerWrites(app: FastifyInstance, options: WritesOptions): void {
  const { brake, reservations, directory, clock } = options;

  app.get('/admin/v1/writes', shownAs('writes', 'Whose writes are stopped', DESCRIBED.read), async () =>
    brake.stops(),
  );

  app.post(
    '/admin/v1/writes/stop',
    shownAs('writes', 'Stop writes, of all teams or of one', DESCRIBED.stop, Order),
    async (request): Promise<WriteStops> => {
      const { team = null, reason } = request.body as Static<typeof Order>;
      if (team !== null && directory.team(team) === undefined) throw noTeam();
      const stop = { by: request.actor.name, at: new Date(clock.now()).toISOString(), reason };
      await brake.stop(team, stop, orderLine('writes.stop', request.body, request.actor, clock));
      return brake.stops();
    },
  );

  app.post(
    '/admin/v1/writes/resume',
    shownAs('writes', 'Resume writes that were stopped', DESCRIBED.resume, Order),
    async (request): Promise<WriteStops> => {
      const { team = null } = request.body as Static<typeof Order>;
      const line = orderLine('writes.resume', request.body, request.actor, clock);
      await brake.resume(team, line).catch((error: unknown) => {
        throw error instanceof RegistryConflict ? stoppedAnew() : error;
      });
      return brake.stops();
    },
  );

  app.get(
    '/admin/v1/writes/unknown',
    shownAs('writes', 'Writes of which nobody knows whether they happened', DESCRIBED.unknown),
    async () => ({ writes: (await reservations.unknown()).map(shown) }),
  );

  app.post(
    '/admin/v1/writes/settle',
    shownAs('writes', 'Say whether a write of unknown outcome happened', DESCRIBED.settle, Settle),
    async (request) => {
      const { id, outcome } = request.body as Static<typeof Settle>;
      const settled = await reservations.settle(id, outcome, async (write) => {
        const { id: _, ...told } = shown(write);
        const after = { ...told, teamId: write.team, outcome };
        const event = { action: 'writes.settle', subject: id, after };
        await options.registry.commit({
          writes: new Map(),
          audit: [auditLine(event, request.actor, clock.now())],
        });
      });
      return { settled: shown(settled), outcome };
    },
  );
}

function orderLine(action: string, body: unknown, actor: Actor, clock: Clock): string {
  const { team, reason } = body as Static<typeof Order>;
  const subject = team === undefined ? 'all teams' : `the team ${team}`;
  const after = { ...(team === undefined ? {} : { teamId: team }), reason };
  return auditLine({ action, subject, after }, actor, clock.now());
}

function stoppedAnew(): GatewayError {
  return new GatewayError('conflict', {
    detail: 'Writes were stopped anew meanwhile, and are not resumed.',
    help: 'Read GET /admin/v1/writes, and resume them again if that is still wanted.',
  });
}

type Listed = Awaited<ReturnType<ReservationBook['unknown']>>[number];

function shown({ amount, atMs, ...write }: Listed): Static<typeof Unknown> {
  const { id, team, route, day, currency, why } = write;
  const units = amount === null ? null : amount / MILLIONTHS;
  return { id, team, route, day, amount: units, currency, at: new Date(atMs).toISOString(), why };
}
