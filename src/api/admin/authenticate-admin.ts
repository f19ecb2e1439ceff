/** Admins: named bearer tokens with a role, compared in constant time; or a session opened with such a token. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { NamedAdmin } from '../../config/admin-tokens.js';
import { GatewayError } from '../../errors.js';
import { arrivalOf, judgeSession } from '../../teams/sessions/browser-request.js';
import {
  commandLineId,
  invalidSession,
  noLongerAllowed,
  refuseReadOnly,
  type Session,
  type Sessions,
} from '../../teams/sessions/sessions.js';
import { actorOf, type Person, type Persons, whoOf } from '../../teams/sign-in/persons.js';
import type { Actor } from '../../telemetry/audit.js';
import { isKeyless, readKeyHeaders } from '../http/caller.js';
import { closeSession } from '../operations/session.js';
import { isAllowed } from '../operations/table.js';

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor;
    /** Who calls the admin plane. */
    caller: Admin;
  }
}

/** Who calls: the holder of a token, or a person. */
export interface Admin extends Pick<NamedAdmin, 'name' | 'role'> {
  readonly person?: Person;
}

export interface AdminAuth {
  readonly admins: readonly NamedAdmin[];
  /** Of the console. */
  readonly sessions: Sessions;
  /** Of the command line: `dgs_…` instead of a token. */
  readonly commandLine: Sessions;
  readonly persons: Pick<Persons, 'find'>;
  /** Whether sessions are opened with tokens. */
  readonly tokenSignIn: boolean;
}

const CHALLENGE = { 'www-authenticate': 'Bearer realm="dsp-gateway admin"' };

/**
 * Authenticates the admin, checks the role and sets `actor`.
 * @throws GatewayError `missing_admin_token`, `invalid_admin_token`, `invalid_session`, `session_forbidden`, `forbidden`;
 *   `not_ready` if a session cannot be checked, or may only read
 */
export async function authenticateAdmin(request: FastifyRequest, auth: AdminAuth): Promise<void> {
  const admin = (await byHeader(request, auth)) ?? (await byCookie(request, auth));
  if (admin === null) throw new GatewayError('missing_admin_token', { headers: CHALLENGE });
  request.caller = admin;
  const least = request.routeOptions.config.operation?.role ?? 'owner';
  if (!isAllowed(admin.role, least)) {
    const holder = admin.person === undefined ? `the token ${admin.name}` : admin.name;
    throw new GatewayError('forbidden', {
      detail: `This call needs the role ${least}; ${holder} has the role ${admin.role}.`,
      help: `Use a token${admin.person === undefined ? '' : ' or an account'} with the role ${least}.`,
    });
  }
  const { method, routeOptions, session } = request;
  const changesNothing = method === 'GET' || method === 'HEAD';
  if (session !== null && !changesNothing && `${method} ${routeOptions.url}` !== closeSession.call)
    refuseReadOnly(session);
  const { name, person } = admin;
  request.actor = person === undefined ? { name, address: request.ip } : actorOf(person, request.ip);
  if (person !== undefined) request.trace.person = whoOf(person);
}

/** By a token, or a session of the command line in its place. */
async function byHeader(request: FastifyRequest, auth: AdminAuth): Promise<Admin | null> {
  const [header, second] = readKeyHeaders(request.raw).authorization;
  if (header === undefined) return null;
  const token = second === undefined ? /^bearer +(\S+)\s*$/i.exec(header)?.[1] : undefined;
  const id = commandLineId(token ?? '');
  return id === null
    ? holderOf(token, auth.admins)
    : byPerson(request, await auth.commandLine.find(id), auth);
}

/** Compares all tokens, by digests of equal length: timing reveals neither the token nor how much of it matched. */
export function holderOf(token: string | undefined, admins: readonly NamedAdmin[]): NamedAdmin {
  const presented = digest(token ?? '');
  const same = admins.map((admin) => timingSafeEqual(presented, digest(admin.token.read())));
  const admin = token === undefined ? undefined : admins[same.indexOf(true)];
  if (admin === undefined) throw new GatewayError('invalid_admin_token', { headers: CHALLENGE });
  return admin;
}

/** Checks the current tokens: a removed or changed token ends its sessions, and a role is always the current one. */
async function byCookie(request: FastifyRequest, auth: AdminAuth): Promise<Admin | null> {
  const { admins, sessions, tokenSignIn } = auth;
  // A request with a team key is refused, even with a cookie.
  if (!isKeyless(readKeyHeaders(request.raw))) return null;
  const session = await judgeSession(arrivalOf(request), sessions);
  if (session === null) return null;
  if (session.isPerson) return byPerson(request, session, auth);
  if (!tokenSignIn) throw invalidSession(sessions.cookie, { detail: NO_TOKENS });
  const same = admins.map((admin) => session.binds(admin.token.read()));
  const admin = admins[same.indexOf(true)];
  if (admin === undefined)
    throw invalidSession(sessions.cookie, {
      detail:
        'The admin token of this session is no longer valid: it was changed or removed from the configuration.',
    });
  request.session = session;
  return admin;
}

/** By today's list of people. */
function byPerson(request: FastifyRequest, session: Session, { persons, sessions }: AdminAuth): Admin {
  const person = persons.find(session.holder);
  const role = person?.grant.admin ?? null;
  if (person === null || role === null) throw noLongerAllowed(sessions.cookie, 'use the admin plane');
  request.session = session;
  return { name: person.name, role, person };
}

export const NO_TOKENS = 'The console is opened with a company account; tokens are for API and command line.';

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
