/** A few overlaps that happened to agree were taken for a proof, and wrong joins were given as final for a month. */
import { expect, it } from 'vitest';
import { byDay } from '../reports/fetch/by-day.js';
import {
  type Answering,
  answering,
  listingWhatDelivered,
  lowerOnTheLastDay,
  type Period,
} from '../reports/learn/range-dependent.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';
import { MINUTE } from '../support/test-clock.js';

/** Rows as `date campaign impressions`. */
const shown = (rows: readonly Readonly<Record<string, unknown>>[]) =>
  rows.map((row) => `${row.date} ${row.campaignId ?? row.campaign_id} ${row.impressions}`);

async function gatewayBefore(rowsIn: Answering) {
  const platform = await startRawPlatform(answering(rowsIn));
  const gateway = await gatewayAt(platform);
  const key = await gateway.addTeam();
  return {
    /** Asks, and tells whether the answer is the platform's own for that period. */
    async ask(...period: Period): Promise<void> {
      const reply = await gateway.report(key, byDay(...period));
      await gateway.services.settled();
      gateway.clock.advance(MINUTE);
      expect(shown(reportIn(reply).data), period.join('/')).toEqual(shown(rowsIn(period)));
    },
  };
}

it('ranges with falling ends do not prove a platform that counts less on a last day', async () => {
  const { ask } = await gatewayBefore(lowerOnTheLastDay);
  await ask('2026-10-20', '2026-11-12');
  await ask('2026-10-21', '2026-11-11');
  await ask('2026-10-22', '2026-11-10');
  await ask('2026-10-23', '2026-11-09');
  await ask('2026-10-24', '2026-11-12');
  await ask('2026-10-24', '2026-11-09');
  await ask('2026-10-30', '2026-11-05');
});

it('three overlaps do not prove a platform that lists only what delivered in the period', async () => {
  const { ask } = await gatewayBefore(listingWhatDelivered);
  await ask('2026-10-05', '2026-10-12');
  await ask('2026-10-06', '2026-10-13');
  await ask('2026-10-07', '2026-10-14');
  await ask('2026-10-05', '2026-10-22');
  await ask('2026-10-06', '2026-10-21');
  await ask('2026-10-08', '2026-10-19');
});
