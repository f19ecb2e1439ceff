/** An answer that was asked for first and came last hid newer days from readers while it was being written. */
import { describe, expect, it } from 'vitest';
import { ALWAYS, byDay } from '../reports/fetch/by-day.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';

const rowsOf = (clicks: number) =>
  sends(JSON.stringify({ data: [{ date: '2026-11-01', campaign_id: 1, advertiser_id: 1, clicks }] }));

/** A call that is answered last, with what the platform said before a restatement; its write takes long. */
async function withOldAnswerBeingWritten() {
  const late: (() => void)[] = [];
  const held: (() => void)[] = [];
  let isHolding = false;
  const platform = await startRawPlatform((request, response) => {
    late.push(() => rowsOf(1)(request, response));
  });
  const gateway = await gatewayAt(platform, {
    config: ALWAYS,
    wrapStore: (store) => ({
      ...store,
      cache: {
        ...store.cache,
        async write(entries) {
          if (isHolding) await new Promise<void>((resolve) => void held.push(resolve));
          await store.cache.write(entries);
        },
      },
    }),
  });
  const key = await gateway.addTeam();
  const query = byDay('2026-11-01', '2026-11-01');
  const older = gateway.report(key, `${query}&_format=raw`);
  await expect.poll(() => late.length).toBe(1);
  platform.answer(rowsOf(2));
  gateway.clock.advance(1000);
  const newer = await gateway.report(key, query, { headers: { 'cache-control': 'no-cache' } });
  expect(reportIn(newer).data[0]).toMatchObject({ clicks: 2 });
  await gateway.services.reporting.settled();
  isHolding = true;
  for (const answer of late) answer();
  expect((await older).status).toBe(200);
  await expect.poll(() => held.length).toBe(1);
  return { gateway, key, query, letGo: () => held.splice(0).forEach((go) => void go()) };
}

describe('an answer that was asked for before a newer one', () => {
  it('takes the place of it neither while it is written nor afterwards', async () => {
    const { gateway, key, query, letGo } = await withOldAnswerBeingWritten();
    const meanwhile = await gateway.report(key, `${query}&_format=ndjson`);
    letGo();
    await gateway.services.reporting.settled();
    const afterwards = await gateway.report(key, `${query}&_format=csv`);
    expect(JSON.parse(meanwhile.text)).toMatchObject({ clicks: 2 });
    expect(afterwards.text).toContain(',2');
  });
});
