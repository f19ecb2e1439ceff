/** What `explain` says a report would cost is what it costs, whatever days are kept, stale or missing. */
import { expect, it } from 'vitest';
import { isoDay } from '../../../src/reports/query/days.js';
import { startRawPlatform } from '../../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../../support/start-gateway.js';
import { HOUR, MINUTE } from '../../support/test-clock.js';
import { byDay, periodOf, rowsPerDay } from './by-day.js';

/** Numbers below `below`, the same ones for the same seed. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const TODAY = Date.parse('2026-11-21T00:00:00Z') / 86_400_000;
const asText = (ranges: readonly { readonly from: string | null; readonly to: string | null }[]) =>
  ranges.map(({ from, to }) => `${from}/${to}`).toSorted();

it.each([1, 2, 3, 4])('of days that are kept, stale and missing at random (seed %i)', async (seed) => {
  const below = numbersFrom(seed);
  const platform = await startRawPlatform(rowsPerDay(() => 1));
  const gateway = await gatewayAt(platform, {
    config: {
      report: {
        ...{ maxDaysPerCall: 6, mergeGapDays: 2, crossCheckEvery: 0 },
        endpoints: { 'campaigns/get': { divisible: 'always' } },
      },
    },
  });
  const key = await gateway.addTeam();
  const { explain } = gateway.services.reporting;
  const seen = { calls: 0, behind: 0, none: 0 };
  for (let round = 0; round < 40; round++) {
    const from = TODAY - below(24);
    const query = byDay(isoDay(from), isoDay(Math.min(TODAY, from + below(20))));
    const more = below(4) === 0 ? '&_totals=1' : '';
    const told = await explain('campaigns/get', query + more);
    const before = platform.requests.length;
    expect(outcomeOf(await gateway.report(key, query + more))).toBe('200');
    await gateway.services.settled();
    const made = platform.requests.slice(before).map((call) => {
      const [first, last] = periodOf(call);
      return { from: first, to: last };
    });
    expect(asText(made), `round ${round}: ${query}${more}`).toEqual(asText([...told.calls, ...told.behind]));
    seen.calls += told.calls.length;
    seen.behind += told.behind.length;
    if (made.length === 0) seen.none += 1;
    gateway.clock.advance([0, 4 * MINUTE, 8 * MINUTE, 62 * MINUTE, 3 * HOUR][below(5)] as number);
    if (below(5) === 0) {
      const purged = TODAY - below(20);
      const scope = { endpoint: 'campaigns/get', from: isoDay(purged), to: isoDay(purged + below(3)) };
      await gateway.manage('POST', '/cache/purge', scope);
    }
  }
  // Else it would have shown nothing.
  expect(Math.min(seen.calls, seen.behind, seen.none)).toBeGreaterThan(0);
});
