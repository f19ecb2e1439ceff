/** The console's session: `/admin/v1/session`. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import type { NamedAdmin } from '../config/admin-tokens.js';
import { GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import { arrivalOf } from '../sessions/arrival.js';
import { endSessionCookie, writeSessionCookie } from '../sessions/cookie.js';
import { checkSignIn } from '../sessions/judge.js';
import { LIFETIME_MS } from '../sessions/record.js';
import type { Session, Sessions } from '../sessions/sessions.js';
import type { Registry } from '../store/registry/replica.js';
import { type Actor, auditLine } from '../telemetry/audit.js';
import { holderOf } from './authenticate-admin.js';
import { allowedTo, RANKS } from './roles.js';
import { changed, REMOVED_ANSWERS } from './say-unconfirmed.js';

export const SESSION_PATH = '/admin/v1/session';

export interface ConsoleSessionOptions {
  readonly admins: readonly NamedAdmin[];
  readonly sessions: Sessions;
  readonly registry: Pick<Registry, 'commit'>;
  readonly clock: Clock;
}

/** Read for anybody, so no longer than a token needs. */
const MAX_BODY_BYTES = 4096;

const SignIn = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 1024, description: 'An admin token.' }) },
  { additionalProperties: false, title: 'SignIn' },
);

const SHOWN = Type.Object(
  {
    name: Type.String({ description: 'Of the admin token.' }),
    role: Type.Enum([...RANKS]),
    may: Type.Array(Type.String(), { description: 'The calls that this role may make.' }),
    csrf: Type.String({ description: 'To be sent as x-csrf-token with every call but GET and HEAD.' }),
    expiresAt: Type.String({
      format: 'date-time',
      description: 'The latest end; it ends before, where nothing is asked for an hour.',
    }),
  },
  { title: 'ConsoleSession' },
);

export function registerSession(app: FastifyInstance, options: ConsoleSessionOptions): void {
  const { admins, sessions, registry, clock } = options;
  /** Written before it is done: no audit, no session. */
  const audit = (action: string, actor: Actor, after?: object) =>
    registry.commit({
      writes: new Map(),
      audit: [
        auditLine(
          { action, subject: actor.name, ...(after === undefined ? {} : { after }) },
          actor,
          clock.now(),
        ),
      ],
    });

  const shown = shownAs('session', 'Sign in to the console', SIGN_IN, SignIn);
  const open = { ...shown, schema: { ...shown.schema, security: [] }, bodyLimit: MAX_BODY_BYTES };
  app.post(SESSION_PATH, open, async (request, reply) => {
    const arrival = arrivalOf(request);
    checkSignIn(arrival);
    const { token } = request.body as Static<typeof SignIn>;
    const admin = holderOf(token.trim(), admins);
    const until = new Date(clock.now() + LIFETIME_MS).toISOString();
    const actor = { name: admin.name, address: request.ip };
    const signedIn = { holder: admin.name, proof: admin.token.read() };
    const session = await sessions.open(signedIn, arrival, () => audit('session.open', actor, { until }));
    const cookie = writeSessionCookie(sessions.cookie, session.id, LIFETIME_MS / 1000, arrival.secure);
    return reply.code(201).header('set-cookie', cookie).send(describe(admin, session));
  });
  app.get(SESSION_PATH, shownAs('session', 'Who is signed in', SHOW), async ({ signedIn }) => {
    const { admin, session } = signedIn ?? notSignedIn();
    return describe(admin, session);
  });
  app.delete(SESSION_PATH, shownAs('session', 'Sign out', SIGN_OUT), async (request, reply) => {
    const { session } = request.signedIn ?? notSignedIn();
    await sessions.close(session.id);
    // Nobody stays signed in because the trail cannot be written.
    await audit('session.close', request.actor).catch((error: unknown) => {
      request.log.warn({ err: error }, 'a session was ended, and the audit could not be told');
    });
    const cookie = endSessionCookie(sessions.cookie, arrivalOf(request).secure);
    return reply.code(204).header('set-cookie', cookie).send();
  });
}

function describe({ name, role }: NamedAdmin, { csrf, endsAtMs }: Session): Static<typeof SHOWN> {
  return { name, role, may: allowedTo(role), csrf, expiresAt: new Date(endsAtMs).toISOString() };
}

function notSignedIn(): never {
  throw new GatewayError('not_found', {
    detail: 'The request is made by a token in its headers, so there is no session it is about.',
    help: 'Leave the header out to ask by cookie.',
  });
}

const SIGN_IN: Operation = {
  id: 'openSession',
  answers: { 201: { ...changed(SHOWN, 'Signed in.'), headers: ['set-cookie', 'cache-control'] } },
  problems: [
    ...(['invalid_admin_token', 'session_forbidden', 'rate_limited', 'not_ready'] as const),
    ...(['invalid_body', 'body_too_large', 'unsupported_media_type'] as const),
  ],
};
const SHOW: Operation = {
  id: 'getSession',
  answers: { 200: json(SHOWN, 'Who is signed in.') },
  problems: ['not_found'],
};
const SIGN_OUT: Operation = {
  id: 'closeSession',
  headers: ['x-csrf-token'],
  answers: {
    ...REMOVED_ANSWERS,
    204: { description: 'Signed out.', headers: ['set-cookie'] },
  },
  problems: ['not_found'],
};
