/** Calls that refresh days before the period as well. */
import { describe, expect, it } from 'vitest';
import { withGateway } from '../../support/start-gateway.js';
import { MINUTE } from '../../support/test-clock.js';
import { ALWAYS, byDay } from '../fetch/by-day.js';

/** A gateway that joins days without proof. `ask`: the periods of the calls that a query makes. */
async function started() {
  const gateway = await withGateway({ config: ALWAYS });
  const key = await gateway.addTeam();
  const ask = async (query: string) => {
    gateway.simulator.clearCalls();
    await gateway.report(key, query);
    await gateway.services.settled();
    return gateway.simulator.calls.map(({ query: { dateFrom, dateTo } }) => [dateFrom, dateTo]);
  };
  const explain = async (query: string) =>
    (await gateway.services.reporting.explain('campaigns/get', query)).calls;
  return { gateway, ask, explain };
}

describe('a call', () => {
  it('refreshes days before the period that need it soon, as explain says', async () => {
    const { gateway, ask, explain } = await started();
    await ask(byDay('2026-11-08', '2026-11-20'));
    gateway.clock.advance(75 * MINUTE);
    const query = byDay('2026-11-18', '2026-11-20');
    expect(await explain(query)).toEqual([{ from: '2026-11-16', to: '2026-11-20' }]);
    expect(await ask(query)).toEqual([['2026-11-16', '2026-11-20']]);
    expect(await ask(byDay('2026-11-08', '2026-11-20'))).toEqual([]);
  });

  it('fetches none that is fresh enough or final', async () => {
    const { gateway, ask } = await started();
    await ask(byDay('2026-11-08', '2026-11-19'));
    gateway.clock.advance(20 * MINUTE);
    expect(await ask(byDay('2026-11-20', '2026-11-20'))).toEqual([['2026-11-20', '2026-11-20']]);
    gateway.clock.advance(55 * MINUTE);
    expect(await ask(byDay('2026-11-16', '2026-11-16'))).toEqual([['2026-11-16', '2026-11-16']]);
  });

  it('fetches none beyond a day that was never asked for', async () => {
    const { gateway, ask } = await started();
    await ask(byDay('2026-11-08', '2026-11-19'));
    gateway.clock.advance(75 * MINUTE);
    expect(await ask(byDay('2026-11-21', '2026-11-21'))).toEqual([['2026-11-21', '2026-11-21']]);
  });

  it('leaves an open period as it is', async () => {
    const { gateway, ask, explain } = await started();
    await ask(byDay('2026-11-08', '2026-11-20'));
    gateway.clock.advance(75 * MINUTE);
    for (const query of ['advertiserId=1&byDate=1', 'advertiserId=1&byDate=1&dateFrom=2026-11-18']) {
      const [from = null, to = null] = [/dateFrom=(.*)/.exec(query)?.[1]];
      expect(await explain(query)).toEqual([{ from, to }]);
      expect(await ask(query)).toEqual([[from ?? undefined, undefined]]);
    }
  });
});
