/**
 * Who may change things: bearer tokens that are compared in constant time, each of a name and a role; or the session that
 * such a token has begun.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { NamedAdmin } from '../../config/admin-tokens.js';
import { GatewayError } from '../../errors.js';
import { arrivalOf, judgeSession } from '../../teams/sessions/browser-request.js';
import { invalidSession, type Session, type Sessions } from '../../teams/sessions/sessions.js';
import type { Actor } from '../../telemetry/audit.js';
import { isKeyless, readKeyHeaders } from '../http/request-keys.js';
import { isAllowed } from '../operations/table.js';

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor;
    /** Who is signed in, where the request is made by cookie. */
    signedIn: { readonly admin: NamedAdmin; readonly session: Session } | null;
  }
}

const CHALLENGE = { 'www-authenticate': 'Bearer realm="dsp-gateway admin"' };

/**
 * Notes who it is, being allowed to make this call.
 * @throws GatewayError `missing_admin_token`, `invalid_admin_token`, `invalid_session`, `session_forbidden`, `forbidden`;
 *   `not_ready` where a session cannot be checked
 */
export async function authenticateAdmin(
  request: FastifyRequest,
  admins: readonly NamedAdmin[],
  sessions: Sessions,
): Promise<void> {
  const admin = byToken(request, admins) ?? (await bySession(request, admins, sessions));
  if (admin === null) throw new GatewayError('missing_admin_token', { headers: CHALLENGE });
  const least = request.routeOptions.config.operation?.role ?? 'owner';
  if (!isAllowed(admin.role, least)) {
    throw new GatewayError('forbidden', {
      detail: `This call needs the role ${least}; the token ${admin.name} has the role ${admin.role}.`,
      help: `Use a token of the role ${least}, or ask somebody who holds one.`,
    });
  }
  request.actor = { name: admin.name, address: request.ip };
}

/** @returns null where there is no token in the headers */
function byToken(request: FastifyRequest, admins: readonly NamedAdmin[]): NamedAdmin | null {
  const [header, second] = readKeyHeaders(request.raw).authorization;
  if (header === undefined) return null;
  const token = /^bearer +(\S+)\s*$/i.exec(header)?.[1];
  return holderOf(second === undefined ? token : undefined, admins);
}

/** All are compared, and digests have one length: time tells neither which one it was nor how much of it was right. */
export function holderOf(token: string | undefined, admins: readonly NamedAdmin[]): NamedAdmin {
  const presented = digest(token ?? '');
  const same = admins.map((admin) => timingSafeEqual(presented, digest(admin.token.read())));
  const admin = token === undefined ? undefined : admins[same.indexOf(true)];
  if (admin === undefined) throw new GatewayError('invalid_admin_token', { headers: CHALLENGE });
  return admin;
}

/** The tokens are looked at anew: whose token is gone or changed is signed in no more, and a role is the present one. */
async function bySession(
  request: FastifyRequest,
  admins: readonly NamedAdmin[],
  sessions: Sessions,
): Promise<NamedAdmin | null> {
  // A key of a team does not open this plane, and with it the cookie does not either.
  if (!isKeyless(readKeyHeaders(request.raw))) return null;
  const session = await judgeSession(arrivalOf(request), sessions);
  if (session === null) return null;
  const same = admins.map((admin) => session.binds(admin.token.read()));
  const admin = admins[same.indexOf(true)];
  if (admin === undefined)
    throw invalidSession(
      sessions.cookie,
      'The admin token that signed in is no longer valid: it was changed, or taken out of the configuration.',
    );
  request.signedIn = { admin, session };
  return admin;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
