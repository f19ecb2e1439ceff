/** `GET /gateway/v1/revisions`: what is known of each day, and since when. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/lib/http/problem.js';
import { outcomeOf, type Reply, reportIn } from '../support/start-gateway.js';
import { BY_DATE, historyScene } from './history-scene.js';

interface Listed {
  readonly data: readonly {
    readonly date: string;
    readonly revisions: readonly (Readonly<Record<string, unknown>> & {
      readonly totals: Readonly<Record<string, unknown>> | null;
    })[];
  }[];
  readonly meta: Readonly<Record<string, unknown>>;
}

const listed = (reply: Reply) => {
  expect(reply.status, reply.text).toBe(200);
  return reply.json<Listed>();
};

describe('the revisions of a report', () => {
  it('are listed by day, with what changed, since when, and what their rows add up to', async () => {
    const { ask, restated, about, gateway } = await historyScene();
    const before = reportIn(await ask(BY_DATE));
    const after = reportIn(await restated(BY_DATE));
    const calls = gateway.simulator.callCount;
    const { data, meta } = listed(await about('revisions', BY_DATE));
    expect(gateway.simulator.callCount).toBe(calls);
    expect(data.map(({ date, revisions }) => [date, revisions.map(({ kind }) => kind)])).toEqual([
      ['2026-11-17', ['first']],
      ['2026-11-18', ['first', 'changed']],
      ['2026-11-19', ['first']],
    ]);
    expect(meta).toMatchObject({
      endpoint: 'campaigns/get',
      advertiserId: 1,
      split: ['date'],
      revisionCount: 4,
    });
    const [first, second] = data[1]?.revisions ?? [];
    expect(first).toMatchObject({ ageDays: 3, rowCount: 1, knownFrom: before.meta.knownAt });
    const { impressions, clicks, spent } = before.data[1] as Record<string, number>;
    expect(first?.totals).toEqual({ impressions, clicks, spent });
    expect(second?.totals?.spent).toBe(after.data[1]?.spent);
    expect(Date.parse(String(second?.knownFrom))).toBeGreaterThan(Date.parse(String(first?.knownFrom)));
  });

  it('are none where no history is kept', async () => {
    const { about } = await historyScene('', { config: { history: { enabled: false } } });
    const reply = await about('revisions', BY_DATE);
    expect(outcomeOf(reply)).toBe('404 not_known_then');
    expect(reply.json<Problem>().detail).toContain('history.enabled');
  });
});
