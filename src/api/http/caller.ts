/**
 * Who calls: the key as sent, in every value of the two headers that may carry it, or, without either, the session; and the address.
 */
import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import type { KeyHeaders } from '../../teams/auth/authenticate.js';

/** The session of a request's cookie, or its error, noted before authentication. */
const sessions = new WeakMap<IncomingMessage, KeyHeaders['session']>();

/** From `rawHeaders`: Node silently drops a second `authorization` header. */
export function readKeyHeaders(request: IncomingMessage): KeyHeaders {
  const { rawHeaders } = request;
  const authorization: string[] = [];
  const apiKey: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase();
    if (name === 'authorization') authorization.push(rawHeaders[index + 1] ?? '');
    else if (name === 'x-api-key') apiKey.push(rawHeaders[index + 1] ?? '');
  }
  // A key takes precedence over the cookie.
  const session = isKeyless({ authorization, apiKey }) ? sessions.get(request) : undefined;
  return { authorization, apiKey, ...(session === undefined ? {} : { session }) };
}

export function isKeyless({ authorization, apiKey }: KeyHeaders): boolean {
  return authorization.length === 0 && apiKey.length === 0;
}

export function noteSession(request: IncomingMessage, session: NonNullable<KeyHeaders['session']>): void {
  sessions.set(request, session);
}

/**
 * The caller's address behind proxies, by Fastify's own rule, for requests answered before Fastify.
 * @param trustedProxies addresses and CIDR ranges whose x-forwarded-for is believed; none: the socket decides
 */
export function callerAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  if (trustedProxies.length === 0) return ({ socket }) => socket.remoteAddress ?? '';
  const trusts = proxyAddr.compile([...trustedProxies]);
  return (request) => proxyAddr.all(request, trusts).at(-1) ?? '';
}

const PORT = String.raw`:(?:[0-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])`;
/** `10.0.0.1:80`, `[::1]:80` or `[::1]`, as an element of a list. */
const WITH_PORT = new RegExp(
  String.raw`(^|[\s,])(?:(\d{1,3}(?:\.\d{1,3}){3})${PORT}|\[([0-9a-f.]*:[0-9a-f:.]*)\](?:${PORT})?)(?=$|[\s,])`,
  'gi',
);

/** Some proxies send addresses with ports (RFC 7239, section 6), which the rule above takes for no addresses. */
export function dropForwardedPorts({ headers }: IncomingMessage): void {
  const given = headers['x-forwarded-for'];
  if (typeof given === 'string') headers['x-forwarded-for'] = given.replace(WITH_PORT, '$1$2$3');
}
