/** Whether a page in a browser may call: of a name that only this network has, or of an origin that an operator lists. */
import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import { isOwnHost } from '../http/own-host.js';

/**
 * A page can have its own name resolve to an address of ours; it cannot take another name. Programs send no origin.
 * @param allowed origins in full; `*` allows any
 * @throws GatewayError `origin_forbidden`
 */
export function refuseForeignOrigin(
  { headers, host }: Pick<FastifyRequest, 'headers' | 'host'>,
  allowed: readonly string[],
): void {
  const { origin } = headers;
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return;
  if (hostOf(origin) === host.toLowerCase() && isOwnHost(host, [])) return;
  throw new GatewayError('origin_forbidden');
}

function hostOf(origin: string): string | null {
  return /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase())?.[1] ?? null;
}
