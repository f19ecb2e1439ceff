/** What was seen first and final of days, by the oracle. */
import { expect } from 'vitest';
import { outcomeOf, reportIn } from '../../support/start-gateway.js';
import { keyOf, type Sight } from './oracle.js';
import { datesOf, rowsByDay } from './platform.js';
import { type Asked, isForbidden, RESTATEMENT_DAYS, report, type World } from './world.js';

type Vintage = 'first' | 'final';

/** @returns rows that are right; null where it is right that there are none */
function rightOf(vintage: Vintage, all: readonly Sight[]): (string | null)[] {
  const least = vintage === 'first' ? 0 : RESTATEMENT_DAYS;
  const written = all.filter(({ missed, ageDays }) => !missed && ageDays > least);
  const first = written.find(({ rows }) => rows.length > 0);
  // An empty day may count at once, later, or not: whether a look confirmed it is the gateway's to judge.
  const empty = written.find(({ rows }) => rows.length === 0);
  if (empty === undefined) return [first?.key ?? null];
  return first === undefined ? [empty.key, null] : [empty.key, first.key];
}

export async function checkVintage(asked: Asked, vintage: Vintage, world: World): Promise<void> {
  const reply = await report(asked, world, `&_days=1&_vintage=${vintage}`);
  const outcome = outcomeOf(reply);
  if (isForbidden(asked)) return expect(outcome).toBe('403 advertiser_forbidden');
  if (world.gateways.outage.away) return expect(outcome).toBe('503 not_ready');
  const dates = datesOf(asked.from, asked.to);
  const right = dates.map((date) => rightOf(vintage, world.oracle.sights(asked, date)));
  if (outcome !== '200') {
    expect(outcome, reply.text).toBe(vintage === 'first' ? '404 not_known_then' : '409 not_final');
    expect(
      right.some((one) => one.includes(null)),
      reply.text,
    ).toBe(true);
    return;
  }
  const rows = rowsByDay(reportIn(reply).data);
  for (const [at, date] of dates.entries())
    expect(right[at], `${vintage} rows of ${date}`).toContain(keyOf(rows.get(date) ?? []));
}
