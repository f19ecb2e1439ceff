/** Parts of a period that the platform refuses, seen from the platform. */

import { describe, expect, it } from 'vitest';
import {
  type Handler,
  type RawPlatform,
  sends,
  startHeldPlatform,
  startRawPlatform,
} from '../../support/raw-platform.js';
import { gatewayAt, outcomeOf, reportIn } from '../../support/start-gateway.js';
import { HOUR, SECOND } from '../../support/test-clock.js';
import { ALWAYS, byDay, periodOf, rowsPerDay } from './by-day.js';

const WITH_ROWS = rowsPerDay(() => 1);
const REFUSES = sends('{"message":"The dates must differ."}', {}, 422);
/** Refuses single days, and answers everything else. */
const refusesDays: Handler = (request, response) => {
  const [from, to] = periodOf(request);
  (from === to ? REFUSES : WITH_ROWS)(request, response);
};
const [TWENTY, PLUS_ONE, PLUS_TWO] = [
  byDay('2026-11-01', '2026-11-10'),
  byDay('2026-11-01', '2026-11-11'),
  byDay('2026-11-01', '2026-11-12'),
];
const periods = ({ requests }: { readonly requests: readonly { readonly url?: string | undefined }[] }) =>
  requests.map((request) => periodOf(request).map((date) => Number(date.slice(-2))));

/** A gateway that joins days without proof, and a key. */
async function open(platform: RawPlatform, config: object = {}) {
  const gateway = await gatewayAt(platform, { config: { ...ALWAYS, ...config } });
  return { gateway, key: await gateway.addTeam() };
}

/** The same, with a replica. */
async function openTwo(platform: RawPlatform) {
  const { gateway: one, key } = await open(platform);
  const other = await gatewayAt(platform, { clock: one.clock, sharedStore: one.store, config: ALWAYS });
  return { one, other, key };
}

describe('a part of a period that the platform refuses', () => {
  it('does not make the whole refused: that is asked for', async () => {
    const platform = await startRawPlatform(refusesDays);
    const { gateway, key } = await open(platform);
    await gateway.report(key, TWENTY);
    expect(reportIn(await gateway.report(key, PLUS_ONE)).data).toHaveLength(11);
    expect(periods(platform)).toEqual([
      [1, 10],
      [11, 11],
      [1, 11],
    ]);
  });

  it('is asked for again with the next period, and costs one further call each time', async () => {
    const platform = await startRawPlatform(refusesDays);
    const { one, other, key } = await openTwo(platform);
    await one.report(key, TWENTY);
    await one.services.settled();
    await one.report(key, PLUS_ONE);
    await one.services.settled();
    await other.services.registry.refresh();
    expect(reportIn(await other.report(key, PLUS_TWO)).data).toHaveLength(12);
    expect(periods(platform).slice(3)).toEqual([
      [12, 12],
      [1, 12],
    ]);
    // What is cached is joined as before.
    expect(reportIn(await other.report(key, byDay('2026-11-03', '2026-11-05'))).data).toHaveLength(3);
    expect(platform.requests).toHaveLength(5);
  });

  it('is refused as a whole when the whole is refused too, once', async () => {
    const platform = await startRawPlatform(WITH_ROWS);
    const { gateway, key } = await open(platform);
    await gateway.report(key, TWENTY);
    platform.answer(sends('{"message":"No such advertiser."}', {}, 404));
    for (let time = 0; time < 3; time++)
      expect(outcomeOf(await gateway.report(key, PLUS_ONE))).toBe('404 upstream_rejected');
    expect(periods(platform).slice(1)).toEqual([
      [11, 11],
      [1, 11],
    ]);
    gateway.clock.advance(31 * SECOND);
    platform.answer(WITH_ROWS);
    expect(reportIn(await gateway.report(key, PLUS_ONE)).data).toHaveLength(11);
    expect(periods(platform).slice(3)).toEqual([[11, 11]]);
  });

  it('costs one call for the whole, however many ask for it at once, on two replicas', async () => {
    const platform = await startHeldPlatform(refusesDays);
    const { one, other, key } = await openTwo(platform);
    await other.services.registry.refresh();
    platform.release();
    await one.report(key, TWENTY);
    platform.hold();
    const asked = [one, one, other, other].map((gateway) => gateway.report(key, PLUS_ONE));
    await platform.arrived(2);
    platform.release();
    for (const reply of await Promise.all(asked)) expect(reportIn(reply).data).toHaveLength(11);
    expect(periods(platform)).toEqual([
      [1, 10],
      [11, 11],
      [1, 11],
    ]);
  });

  it('is a failure of the gateway when the team may not cause the call for the whole, and no answer is kept', async () => {
    const platform = await startRawPlatform(refusesDays);
    const gateway = await gatewayAt(platform, { config: ALWAYS });
    const limits = { requestsPerMinute: 1000, maxConcurrent: 10, upstreamCallsPerDay: 2 };
    const [poor, rich] = [await gateway.addTeam({ limits }), await gateway.addTeam()];
    await gateway.report(poor, TWENTY);
    const reply = await gateway.report(poor, PLUS_ONE);
    expect(outcomeOf(reply)).toBe('502 upstream_error');
    expect(reply.json().detail).toContain('refused part of the period');
    expect(reportIn(await gateway.report(rich, PLUS_ONE)).data).toHaveLength(11);
  });

  it('is answered from what is kept when the whole cannot be had', async () => {
    const platform = await startRawPlatform(WITH_ROWS);
    const { gateway, key } = await open(platform, { platform: { retry: { attempts: 0 } } });
    const query = byDay('2026-11-10', '2026-11-20');
    await gateway.report(key, query);
    gateway.clock.advance(2 * HOUR);
    platform.answer((request, response) => {
      const isWhole = periodOf(request).join() === '2026-11-10,2026-11-20';
      (isWhole ? sends('{}', {}, 500) : REFUSES)(request, response);
    });
    const reply = await gateway.report(key, query);
    expect(reportIn(reply).data).toHaveLength(11);
    expect(reply.headers['cache-status']).toContain('stale-if-error');
  });

  it('is told as it is when the platform forbids it', async () => {
    const platform = await startRawPlatform(WITH_ROWS);
    const { gateway, key } = await open(platform);
    await gateway.report(key, TWENTY);
    platform.answer(sends('{"message":"Forbidden."}', {}, 403));
    expect(outcomeOf(await gateway.report(key, PLUS_ONE))).toBe('403 upstream_rejected');
    expect(platform.requests).toHaveLength(2);
  });
});
