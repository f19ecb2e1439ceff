/** Who calls, where proxies stand between: Fastify's own rule, for what is answered before Fastify. */
import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';

/** @param trustedProxies addresses and CIDR ranges whose x-forwarded-for is believed; none: the socket decides */
export function callerAddress(
  trustedProxies: readonly string[],
): (request: Pick<IncomingMessage, 'socket' | 'headers'>) => string {
  if (trustedProxies.length === 0) return ({ socket }) => socket.remoteAddress ?? '';
  const trusts = proxyAddr.compile([...trustedProxies]);
  return (request) => proxyAddr.all(request as IncomingMessage, trusts).at(-1) ?? '';
}
