/** Who may change things: bearer tokens that are compared in constant time, each of a name and a role. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { NamedAdmin } from '../config/admin-tokens.js';
import { GatewayError } from '../errors.js';
import { readKeyHeaders } from '../http/request-keys.js';
import type { Actor } from '../telemetry/audit.js';
import { isAllowed, leastRole } from './roles.js';

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor;
  }
}

const CHALLENGE = { 'www-authenticate': 'Bearer realm="dsp-gateway admin"' };

/**
 * @returns who it is, being allowed to make this call
 * @throws GatewayError `missing_admin_token`, `invalid_admin_token`, `forbidden`
 */
export function authenticateAdmin(request: FastifyRequest, admins: readonly NamedAdmin[]): Actor {
  const [header, second] = readKeyHeaders(request.raw).authorization;
  if (header === undefined) throw new GatewayError('missing_admin_token', { headers: CHALLENGE });
  const token = /^bearer +(\S+)\s*$/i.exec(header)?.[1];
  const admin = token === undefined || second !== undefined ? undefined : holderOf(token, admins);
  if (admin === undefined) throw new GatewayError('invalid_admin_token', { headers: CHALLENGE });
  const { method, routeOptions } = request;
  const least = leastRole(method, routeOptions.url ?? '');
  if (!isAllowed(admin.role, least)) {
    throw new GatewayError('forbidden', {
      detail: `This call needs the role ${least}; the token ${admin.name} has the role ${admin.role}.`,
      help: `Use a token of the role ${least}, or ask somebody who holds one.`,
    });
  }
  return { name: admin.name, address: request.ip };
}

/** All are compared, and digests have one length: time tells neither which one it was nor how much of it was right. */
function holderOf(token: string, admins: readonly NamedAdmin[]): NamedAdmin | undefined {
  const presented = digest(token);
  const same = admins.map((admin) => timingSafeEqual(presented, digest(admin.token.read())));
  return admins[same.indexOf(true)];
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
