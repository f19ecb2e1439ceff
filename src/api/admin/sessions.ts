/** Sessions of all people and programs, for operators: listed and ended. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Services } from '../../server/services.js';
import { listSessions, type OpenSession } from '../../teams/sessions/all-sessions.js';
import { endSession, type SessionKind, sessionDocument } from '../../teams/sessions/session-records.js';
import { type Actor, noteEvent } from '../../telemetry/audit.js';
import type { AnswerOf } from '../operations/operation.js';
import * as calls from '../operations/session.js';
import { serve } from './serve.js';

type Shown = AnswerOf<typeof calls.listSessions>['sessions'][number];

const USES: Readonly<Record<SessionKind, Shown['use']>> = {
  dgw_console: 'console',
  dgw_explorer: 'explorer',
  dgw_cli: 'command line',
};

export function registerSessions(app: FastifyInstance, services: Services): void {
  const { store, clock } = services;
  const list = () => listSessions(store.documents, clock);
  async function end(session: OpenSession, actor: Actor): Promise<void> {
    await endSession(store.documents, session.document, clock);
    const event = {
      action: 'session.revoke',
      subject: session.holder,
      before: { use: USES[session.kind], id: session.id },
    };
    await noteEvent(services, event, actor);
  }

  serve(app, calls.listSessions, async ({ session }) => {
    const own = session && sessionDocument(session.byHeader ? 'dgw_cli' : 'dgw_console', session.id);
    return { sessions: (await list()).map((one) => show(one, own, services)) };
  });
  serve(app, calls.revokeSession, async ({ params, actor }) => {
    const session = (await list()).find(({ id }) => id === params.id);
    if (session === undefined)
      throw new GatewayError('not_found', {
        detail: 'There is no open session with this id.',
        help: 'GET /admin/v1/sessions lists those that are open.',
      });
    await end(session, actor);
  });
  serve(app, calls.revokeSessionsOfPerson, async ({ params, actor }) => {
    const own = (await list()).filter(({ isPerson, holder }) => isPerson === true && holder === params.id);
    for (const session of own) await end(session, actor);
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
