/**
 * Against DNS rebinding: a page can let its own name resolve to this machine, but cannot change the name. Calls without a token
 * are therefore accepted only under an address, a private name or a declared one.
 */
import { isIP } from 'node:net';

/** Suffixes of names that cannot be registered: of this machine, a cluster, a private network. */
const PRIVATE = ['localhost', 'local', 'internal', 'svc', 'cluster.local', 'home.arpa'];

/**
 * @param names further names, in lower case
 * @param host as received; undefined for HTTP/1.0 without one, which no browser sends
 */
export function isOwnHost(host: string | undefined, names: readonly string[]): boolean {
  if (host === undefined) return true;
  const name = host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
  if (isIP(name) > 0 || names.includes(name)) return true;
  if (!/^[a-z0-9_.-]+$/.test(name)) return false;
  return !name.includes('.') || PRIVATE.some((end) => name === end || name.endsWith(`.${end}`));
}
