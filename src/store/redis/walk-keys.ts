/** Keys on each server of a cluster, page by page. */
import type { Redis } from 'ioredis';
import { turn } from '../../lib/time.js';
import type { Link } from './link.js';

/** Keys that one command visits. */
const SCANNED_AT_ONCE = 500;

/** @returns keys of a pattern, with the server that has them; one that changes meanwhile may be missing, or come twice. @throws StoreUnavailable */
export async function* walkKeys(
  link: Pick<Link, 'call' | 'servers'>,
  pattern: string,
  isStopped: () => boolean,
): AsyncGenerator<{ readonly server: Redis; readonly keys: readonly string[] }> {
  for (const server of link.servers())
    for (let [cursor, isOver] = ['0', false]; !isOver && !isStopped(); isOver = cursor === '0') {
      const from = cursor;
      const [next, keys] = await link.call('scan', () =>
        server.scan(from, 'MATCH', pattern, 'COUNT', SCANNED_AT_ONCE),
      );
      cursor = next;
      // Requests go first.
      await turn();
      if (keys.length > 0) yield { server, keys };
    }
}
