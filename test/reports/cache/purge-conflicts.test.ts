import { describe, expect, it, onTestFinished } from 'vitest';
import { createPurges } from '../../../src/reports/cache/purges.js';
import { openStore } from '../../store/redis/open-store.js';
import { startRedis } from '../../support/redis.js';
import { openEmbedded, openReplica, withoutBus } from '../../support/shared-registry.js';

const MANY = 24;
const advertiser = (at: number) => String(1000 + at);
const subject = (advertiserId: string, seq: number) => ({
  seq,
  advertiserId,
  named: [],
  held: [],
  endpoint: 'campaigns/get',
  from: '2026-11-10',
  to: '2026-11-12',
});

async function openRedisPair() {
  const server = await startRedis();
  onTestFinished(() => server.close());
  const open = async () => {
    const { store } = await openStore(server.url, { timeoutMs: 5000, registryTimeoutMs: 5000 });
    onTestFinished(() => store.close());
    return store;
  };
  return [await open(), await open()];
}

describe.each([
  [
    'two replicas of one embedded store',
    async () => {
      const store = await openEmbedded();
      return [store, store];
    },
  ],
  ['two handles of one Redis', openRedisPair],
])('many purges at once on %s', (_what, open) => {
  it('are all made, each with a number of its own', async () => {
    const replicas = await Promise.all((await open()).map((store) => openReplica(withoutBus(store))));
    const purges = replicas.map(({ registry }) => createPurges(registry));
    const first = purges[0]?.seq as number;
    await Promise.all(
      Array.from({ length: MANY }, (_, at) =>
        purges[at % purges.length]?.append({ advertiserId: advertiser(at) }, `purge ${at}`),
      ),
    );
    for (const [at, { registry }] of replicas.entries()) {
      await registry.refresh();
      const mine = purges[at] as (typeof purges)[0];
      expect(mine.seq - first).toBe(MANY);
      const purged = Array.from({ length: MANY }, (_, one) => mine.isPurged(subject(advertiser(one), first)));
      expect(purged).toEqual(purged.map(() => true));
      expect(mine.isPurged(subject('1', first))).toBe(false);
    }
  });
});
