/** Embedded store: a cached answer is still there after a restart, and what was purged is still purged. */
import { beforeAll, describe, expect, it } from 'vitest';
import { admin, ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { type Gateway, type Platform, startGateway, startPlatform } from '../support/processes.js';

const FIRST = `${REPORT}?advertiserId=1&byDate=1&dateFrom=2026-01-01&dateTo=2026-01-31`;
const SECOND = `${REPORT}?advertiserId=2&byDate=1&dateFrom=2026-01-01&dateTo=2026-01-31`;

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});

const restart = async (gateway: Gateway, signal: NodeJS.Signals) => {
  await gateway.end(signal);
  return startGateway({ ...platform.env, GATEWAY_DATA_DIR: gateway.dataDir });
};

describe('a cached answer', () => {
  it.each<NodeJS.Signals>(['SIGTERM', 'SIGKILL'])(
    'is given after %s and a new start as before, and costs no call; what was purged is asked for again',
    async (signal) => {
      let gateway = await startGateway(platform.env);
      const { key } = await newTeam(gateway, { id: 'apps' });
      const look = async (path: string) => {
        const { status, headers, text } = await ask(gateway.data + path, { key });
        return { status, etag: headers.etag, cache: headers['cache-status'], text };
      };
      const before = [await look(FIRST), await look(SECOND)];
      expect(before.map(({ status, cache }) => [status, cache])).toEqual([
        [200, 'dsp-gateway; fwd=miss; stored'],
        [200, 'dsp-gateway; fwd=miss; stored'],
      ]);
      await admin(gateway, 'POST', '/cache/purge', { advertiserId: 2 });
      gateway = await restart(gateway, signal);
      const sim = simulatorOf(platform.url);
      await sim.forget();
      const again = await look(FIRST);
      expect(again.cache).toMatch(/^dsp-gateway; hit; ttl=\d+; detail=store$/);
      expect({ ...again, cache: null }).toEqual({ ...before[0], cache: null });
      expect(await sim.calls()).toEqual([]);
      expect((await look(SECOND)).cache).toBe('dsp-gateway; fwd=miss; stored');
      expect(await sim.calls()).toHaveLength(1);
      await gateway.end('SIGTERM');
    },
  );
});
