/**
 * Whether a `host` header names this machine as those call it who may ask without a token. A page in a browser can
 * have its own name resolve to an address of ours and read the answer; it cannot change the name.
 */
import { isIP } from 'node:net';

/** Suffixes of names that nobody outside can own: of this machine, a cluster, a private network. */
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
