/** The list of revisions, beside what the oracle knows. */
import { expect } from 'vitest';
import { outcomeOf } from '../../support/start-gateway.js';
import type { Sight } from './oracle.js';
import { datesOf } from './platform.js';
import { type Asked, isForbidden, queryOf, type World } from './world.js';

interface Listed {
  readonly data: readonly {
    readonly date: string;
    readonly revisions: readonly {
      readonly knownFrom: string;
      readonly kind: string;
      readonly rowCount: number;
      readonly totals: Readonly<Record<string, number>> | null;
    }[];
  }[];
}

const COLUMNS = ['impressions', 'clicks', 'spent'];

function totalOf({ rows }: Sight, column: string): number {
  return rows.reduce((sum, row) => sum + Math.round(Number(row[column]) * 10_000), 0) / 10_000;
}

export async function checkRevisions(asked: Asked, world: World): Promise<void> {
  const query = new URLSearchParams({ endpoint: 'campaigns/get', query: queryOf(asked) });
  const key = world.keys[asked.limited ? 'one' : 'all'];
  const reply = await world.gateways.at(asked.replica).call(`/gateway/v1/revisions?${query}`, { key });
  const outcome = outcomeOf(reply);
  if (isForbidden(asked)) return expect(outcome).toBe('403 advertiser_forbidden');
  if (world.gateways.outage.away) return expect(outcome).toBe('503 not_ready');
  expect(outcome, reply.text).toBe('200');
  const { data } = reply.json<Listed>();
  expect(data.map(({ date }) => date)).toEqual(datesOf(asked.from, asked.to));
  for (const { date, revisions } of data) {
    const written = world.oracle.sights(asked, date).filter(({ missed }) => !missed);
    const times = revisions.map(({ knownFrom }) => knownFrom);
    expect(times, 'in order').toEqual([...new Set(times)].toSorted());
    if (written.length > 0) expect(revisions, `${date} has revisions`).not.toEqual([]);
    expect(['first', undefined], `${date} begins with the first`).toContain(revisions[0]?.kind);
    for (const { knownFrom, rowCount, totals } of revisions) {
      const atMs = Date.parse(knownFrom);
      const own = written.find(({ fromMs, untilMs }) => fromMs <= atMs && atMs <= untilMs);
      expect(own, `${date} has something that was known from ${knownFrom} on: ${reply.text}`).toBeDefined();
      expect(rowCount).toBe(own?.rows.length);
      if (own === undefined || own.rows.length === 0) continue;
      for (const column of COLUMNS)
        expect(totals?.[column], `${column} of ${date}`).toBe(totalOf(own, column));
    }
  }
}
