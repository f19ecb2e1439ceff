/** Who may change things: a bearer token that is compared in constant time. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Secret } from '../config/secret.js';
import { GatewayError } from '../errors.js';
import { readKeyHeaders } from '../http/request-keys.js';
import type { Actor } from '../telemetry/audit.js';

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor;
  }
}

const CHALLENGE = { 'www-authenticate': 'Bearer realm="dsp-gateway admin"' };

/** @throws GatewayError `missing_admin_token`, `invalid_admin_token` */
export function authenticateAdmin(request: FastifyRequest, adminToken: Secret): Actor {
  const [header, second] = readKeyHeaders(request.raw).authorization;
  if (header === undefined) throw new GatewayError('missing_admin_token', { headers: CHALLENGE });
  const token = /^bearer +(\S+)\s*$/i.exec(header)?.[1];
  if (token === undefined || second !== undefined || !isSame(token, adminToken.read())) {
    throw new GatewayError('invalid_admin_token', { headers: CHALLENGE });
  }
  return { name: 'admin', address: request.ip };
}

/** Digests have one length, so the comparison tells nothing of the token's. */
function isSame(left: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
