import { describe, expect, it } from 'vitest';
import { createRememberedQueries, type Sent } from '../../src/reports/queries.js';
import type { Query } from '../../src/reports/query.js';

const QUESTION = { readOn: { fromMs: 0, untilMs: 1 } } as unknown as Query;

/** @returns how many of 1000 questions with so many parameters each are still known when all were remembered */
function knownOf(parameters: number): number {
  const known = createRememberedQueries();
  const further = Array.from({ length: parameters - 1 }, (_, at) => `&z${at}=1`).join('');
  const all = Array.from(
    { length: 1000 },
    (_, n): Sent => ({
      method: 'GET',
      target: `/api/v1/report/campaigns/get?a=${n}${further}`,
      accept: undefined,
      acceptEncoding: undefined,
    }),
  );
  for (const sent of all) known.add(sent, 'json', QUESTION);
  return all.filter((sent) => known.find(sent, 'json', 0) !== undefined).length;
}

describe('the room of remembered questions', () => {
  it('holds many of the usual size', () => {
    expect(knownOf(6)).toBe(1000);
  });

  // One of 140 parameters that nobody knows takes about 73 kB.
  it('holds fewer where each has many parameters', () => {
    const count = knownOf(140);
    expect(count).toBeGreaterThan(100);
    expect(count).toBeLessThan(16_777_216 / 73_000);
  });
});
