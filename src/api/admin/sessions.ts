/** Sessions of all people and programs, for operators: listed and ended. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Services } from '../../server/services.js';
import { listSessions, type OpenSession } from '../../teams/sessions/all-sessions.js';
import { endSession, type SessionKind } from '../../teams/sessions/session-records.js';
import { type Actor, auditLine } from '../../telemetry/audit.js';
import type { AnswerOf } from '../operations/operation.js';
import * as calls from '../operations/session.js';
import type { AdminAuth } from './authenticate-admin.js';
import { serve } from './serve.js';

type Shown = AnswerOf<typeof calls.listSessions>['sessions'][number];

const USES: Readonly<Record<SessionKind, Shown['use']>> = {
  dgw_console: 'console',
  dgw_explorer: 'explorer',
  dgw_cli: 'command line',
};

/** @param auth with the sessions that this process may also accept from memory */
export function registerSessions(
  app: FastifyInstance,
  services: Services,
  auth: Pick<AdminAuth, 'sessions' | 'commandLine'>,
): void {
  const { store, clock, registry, directory } = services;
  const list = () => listSessions(store.documents, clock);
  const end = (session: OpenSession) => {
    if (session.kind === 'dgw_explorer') return endSession(store.documents, session.document, clock);
    return (session.kind === 'dgw_cli' ? auth.commandLine : auth.sessions).close(session);
  };
  /** Written first: what cannot be audited ends nothing. */
  async function endAll(sessions: readonly OpenSession[], actor: Actor): Promise<void> {
    const audit = sessions.map(({ holder, kind, id }) => {
      const event = { action: 'session.revoke', subject: holder, before: { use: USES[kind], id } };
      return auditLine(event, actor, clock.now());
    });
    if (audit.length > 0) await registry.commit({ writes: new Map(), audit });
    await Promise.all(sessions.map(end));
  }
  /** Also those that began with a key of his own. */
  const isOf =
    (person: string) =>
    ({ isPerson, kind, holder }: OpenSession) =>
      isPerson === true
        ? holder === person
        : kind === 'dgw_explorer' && directory.key(holder)?.maker === person;

  serve(app, calls.listSessions, async ({ session }) => {
    const own = session?.document ?? null;
    return { sessions: (await list()).map((one) => show(one, own, services)) };
  });
  serve(app, calls.revokeSession, async ({ params, actor }) => {
    const session = (await list()).find(({ id }) => id === params.id);
    if (session === undefined)
      throw new GatewayError('not_found', {
        detail: 'There is no open session with this id.',
        help: 'GET /admin/v1/sessions lists those that are open.',
      });
    await endAll([session], actor);
  });
  serve(app, calls.revokeSessionsOfPerson, async ({ params, actor }) => {
    const own = (await list()).filter(isOf(params.id));
    await endAll(own, actor);
    return { revoked: own.length };
  });
  serve(app, calls.getCaller, async ({ session, caller: { name, role } }) => {
    return {
      name,
      role,
      by: session === null ? 'token' : session.byHeader ? 'command line' : 'console',
      isPerson: session?.isPerson ?? false,
      expiresAt: session && new Date(session.endsAtMs).toISOString(),
    } satisfies AnswerOf<typeof calls.getCaller>;
  });
}

/** @param own document of the session of this call */
function show(
  { id, kind, holder, isPerson: byPerson, team, createdAtMs, seenAtMs, endsAtMs, document }: OpenSession,
  own: string | null,
  { persons, directory }: Pick<Services, 'persons' | 'directory'>,
): Shown {
  const isPerson = byPerson === true;
  const key = isPerson || kind !== 'dgw_explorer' ? undefined : directory.key(holder);
  const isoOf = (ms: number) => new Date(ms).toISOString();
  return {
    id,
    use: USES[kind],
    by: isPerson ? 'person' : kind === 'dgw_explorer' ? 'key' : 'token',
    holder,
    name: isPerson ? (persons.find(holder)?.name ?? null) : (key?.label ?? null) || null,
    team: team ?? key?.teamId ?? null,
    since: isoOf(createdAtMs),
    lastUsedAt: isoOf(seenAtMs),
    expiresAt: isoOf(endsAtMs),
    isYours: document === own,
  };
}
