/** Orders of fetches without a claim. */
import { expect, it } from 'vitest';
import { wallMs } from '../../../src/lib/time.js';
import { createDays } from '../../../src/reports/days/days.js';
import { encodePart } from '../../../src/reports/days/part.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory } from '../../support/shared-registry.js';
import { HOUR, MINUTE } from '../../support/test-clock.js';

it('an order that a store gave while its clock was an hour ahead holds back no later fetch', async () => {
  const { days: store } = await openInMemory();
  let aheadMs = HOUR;
  const days = createDays({
    store: {
      ...store,
      async claim(...args) {
        const clockUs = (wallMs() + aheadMs) * 1000;
        return { ...(await store.claim(...args)), clockUs, order: clockUs };
      },
    },
    encode: async (some) => encodePart(some),
    now: wallMs,
    onDamaged: () => {},
    logger: createRecordedLog().logger,
  });
  await days.compareClocks();
  const wrong = days.nextOrder();
  aheadMs = 0;
  await days.compareClocks();
  const [next, later] = [days.nextOrder(), days.nextOrder()];
  expect(wrong).toBeGreaterThan((wallMs() + HOUR - MINUTE) * 1000);
  expect(next).toBeLessThan((wallMs() + MINUTE) * 1000);
  expect(later).toBeGreaterThan(next);
});
