import { describe, expect, it } from 'vitest';
import { reportIn, type SimulatedGateway, withGateway } from '../support/start-gateway.js';
import { MINUTE } from '../support/test-clock.js';
import { ALWAYS, byDay } from './by-day.js';

const QUERY = byDay('2026-11-03', '2026-11-05');

/** A gateway that has learned that the campaign report by date may be cut. */
async function proven(auditEvery: number): Promise<SimulatedGateway & { readonly key: string }> {
  const gateway = await withGateway({ config: { report: { auditEvery } } });
  const key = await gateway.addTeam();
  for (const [from, to] of [
    ['2026-11-01', '2026-11-05'],
    ['2026-11-02', '2026-11-06'],
    ['2026-11-03', '2026-11-07'],
  ] as const) {
    await gateway.report(key, byDay(from, to));
    await gateway.services.settled();
  }
  const { policy } = await gateway.services.engine.explain('campaigns/get', QUERY);
  expect(policy.because).toBe('proven to be divisible');
  gateway.simulator.clearCalls();
  return Object.assign(gateway, { key });
}

/** @param extra another one each time: a finished body is given as it is, and not joined from days again */
async function assemble(gateway: SimulatedGateway & { readonly key: string }, extra = '') {
  const answer = reportIn(await gateway.report(gateway.key, QUERY + extra));
  await gateway.services.settled();
  return answer;
}

const stateOf = async (gateway: SimulatedGateway) =>
  (await gateway.services.engine.explain('campaigns/get', QUERY)).policy.divisibility;
const clicksOn = ({ data }: ReturnType<typeof reportIn>, date: string) =>
  data.find((row) => row.date === date)?.clicks;

describe('the audit', () => {
  it('looks into one in so many answers that were joined from days', async () => {
    const gateway = await proven(3);
    const counts: number[] = [];
    for (const form of [
      '',
      '&_days=1',
      '&_format=csv',
      '&_format=ndjson',
      '&_totals=1',
      '&_totals=1&_days=1',
    ]) {
      await gateway.report(gateway.key, QUERY + form);
      await gateway.services.settled();
      counts.push(gateway.simulator.calls.filter(({ url }) => url.includes('byDate=1')).length);
    }
    expect(counts).toEqual([0, 0, 1, 1, 1, 2]);
    const [call] = gateway.simulator.calls.filter(({ url }) => url.includes('byDate=1'));
    expect(call?.query).toMatchObject({ dateFrom: '2026-11-03', dateTo: '2026-11-05' });
    expect(await stateOf(gateway)).toMatchObject({ state: 'proven', restatements: 0 });
  });

  it('does not look at all when told so', async () => {
    const gateway = await proven(0);
    const before = gateway.simulator.callCount;
    for (const form of ['', '&_days=1', '&_format=csv']) {
      await gateway.report(gateway.key, QUERY + form);
      await gateway.services.settled();
    }
    expect(gateway.simulator.callCount).toBe(before);
  });

  it('spends no call where the configuration has decided', async () => {
    const gateway = await withGateway({
      config: { report: { auditEvery: 1, endpoints: ALWAYS.report.endpoints } },
    });
    const key = await gateway.addTeam();
    await gateway.report(key, QUERY);
    await gateway.services.settled();
    await gateway.report(key, `${QUERY}&_days=1`);
    await gateway.services.settled();
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('notices a platform whose numbers have come to depend on the period: whole entries from then on', async () => {
    const gateway = await proven(1);
    gateway.simulator.set({ divisible: false });
    await assemble(gateway);
    expect(await stateOf(gateway)).toMatchObject({ state: 'refuted' });
    expect(gateway.log.some(({ msg }) => msg.includes('may not be cut by day'))).toBe(true);
    // What is given now is the platform's own answer for the whole period.
    gateway.simulator.clearCalls();
    const answer = await assemble(gateway, '&_days=1');
    expect(gateway.simulator.calls.map(({ query }) => [query.dateFrom, query.dateTo])).toEqual([
      ['2026-11-03', '2026-11-05'],
    ]);
    expect(answer.data).toHaveLength(3);
  });

  it('finds a final day that was restated, counts it, and gives the new numbers from then on', async () => {
    const gateway = await proven(1);
    const before = await assemble(gateway);
    gateway.clock.advance(MINUTE);
    gateway.simulator.restate({ advertiserId: 1, from: '2026-11-04', to: '2026-11-04' });
    await assemble(gateway, '&_days=1');
    expect(await stateOf(gateway)).toMatchObject({
      state: 'proven',
      restatements: 1,
      oldestRestatementDays: 17,
    });
    const after = (await gateway.report(gateway.key, `${QUERY}&_format=ndjson`)).text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const truth = gateway.simulator
      .truth({ advertiserId: 1, dateFrom: '2026-11-03', dateTo: '2026-11-05', byDate: true })
      .map(({ clicks }) => clicks);
    expect(clicksOn(before, '2026-11-04')).not.toBe(truth[1]);
    expect(after.map(({ clicks }) => clicks)).toEqual(truth);
  });
});
