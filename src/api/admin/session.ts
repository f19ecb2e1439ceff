/** The console's session: `/admin/v1/session`. */
import type { FastifyInstance } from 'fastify';
import type { NamedAdmin } from '../../config/admin-tokens.js';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import type { Registry } from '../../store/registry/replica.js';
import {
  arrivalOf,
  checkSignIn,
  endSessionCookie,
  writeSessionCookie,
} from '../../teams/sessions/browser-request.js';
import { LIFETIME_MS } from '../../teams/sessions/session-records.js';
import { notSignedIn, type Session } from '../../teams/sessions/sessions.js';
import { type Actor, noteEvent } from '../../telemetry/audit.js';
import type { AnswerOf } from '../operations/operation.js';
import { closeSession, getSession, openSession } from '../operations/session.js';
import { callsOf } from '../operations/table.js';
import { type AdminAuth, holderOf, NO_TOKENS } from './authenticate-admin.js';
import { serve } from './serve.js';

export interface ConsoleSessionOptions {
  readonly auth: AdminAuth;
  readonly registry: Pick<Registry, 'commit'>;
  readonly clock: Clock;
}

export function registerSession(app: FastifyInstance, options: ConsoleSessionOptions): void {
  const { auth, clock } = options;
  const { sessions } = auth;
  /** Written first: no audit, no session. */
  const audit = (action: string, actor: Actor, after?: object) =>
    noteEvent(options, { action, subject: actor.name, ...(after && { after }) }, actor);

  serve(app, openSession, async (request, reply) => {
    if (!auth.tokenSignIn)
      throw new GatewayError('session_forbidden', { detail: NO_TOKENS, help: 'Sign in at /auth/login.' });
    const arrival = arrivalOf(request);
    checkSignIn(arrival);
    const admin = holderOf(request.body.token.trim(), auth.admins);
    const until = new Date(clock.now() + LIFETIME_MS).toISOString();
    const actor = { name: admin.name, address: request.ip };
    const signedIn = { holder: admin.name, proof: admin.token.read() };
    const session = await sessions.open(signedIn, arrival, () => audit('session.open', actor, { until }));
    if (session.readOnly !== null) request.log.warn({ admin: admin.name, address: request.ip }, UNSTORED);
    const cookie = writeSessionCookie(sessions.cookie, session.id, LIFETIME_MS / 1000, arrival.secure);
    return reply.header('set-cookie', cookie).send(describe(admin, session));
  });
  serve(app, getSession, async ({ caller, session }) => describe(caller, session ?? notSignedIn('token')));
  serve(app, closeSession, async (request, reply) => {
    const session = request.session ?? notSignedIn('token');
    await (session.byHeader ? auth.commandLine : sessions).close(session);
    // A failing audit must not keep the session open.
    await audit('session.close', request.actor).catch((error: unknown) => {
      request.log.warn({ err: error }, 'failed to record the end of a session in the audit');
    });
    const cookie = endSessionCookie(sessions.cookie, arrivalOf(request).secure);
    return reply.header('set-cookie', cookie).send();
  });
}

const UNSTORED =
  'an admin signed in while the store is away: the session can only read, and is stored and audited when the store is back';

function describe(
  { name, role }: Pick<NamedAdmin, 'name' | 'role'>,
  { csrf, endsAtMs, readOnly, isPerson }: Session,
): AnswerOf<typeof getSession> {
  const may = callsOf(role).filter((call) => readOnly === null || call.startsWith('GET '));
  return { name, role, isPerson, may, csrf, expiresAt: new Date(endsAtMs).toISOString(), readOnly };
}
