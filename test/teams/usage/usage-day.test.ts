import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayGroup, readDay, teamGroup, toBatch, USAGE_FIELDS } from '../../../src/teams/usage/usage-day.js';

const field = fc.constantFrom(...USAGE_FIELDS);
const pending = fc
  .uniqueArray(
    fc.record({
      day: fc.constantFrom('2026-11-20', '2026-11-21'),
      team: fc.stringMatching(/^[a-z0-9-]{1,5}$/),
      counts: fc.uniqueArray(fc.tuple(field, fc.nat()), { selector: ([name]) => name, minLength: 1 }),
    }),
    { selector: ({ day, team }) => `${day}/${team}` },
  )
  .map((entries) => {
    const days = new Map<string, Map<string, Map<(typeof USAGE_FIELDS)[number], number>>>();
    for (const { day, team, counts } of entries) {
      const teams = days.get(day) ?? new Map();
      days.set(day, teams.set(team, new Map(counts)));
    }
    return { entries, days };
  });

describe('a batch', () => {
  it('holds every count once, and names every team in the group of its day', () => {
    fc.assert(
      fc.property(pending, ({ entries, days }) => {
        const { adds, raises } = toBatch(days);
        const expected = entries.flatMap(({ day, team, counts }) =>
          counts.map(([name, by]) => ({ group: teamGroup(day, team), field: name, by })),
        );
        const sorted = (list: object[]) => list.map((one) => JSON.stringify(one)).sort();
        expect(sorted(adds)).toEqual(sorted(expected));
        expect(sorted(raises)).toEqual(
          sorted(entries.map(({ day, team }) => ({ group: dayGroup(day), field: team, to: 1 }))),
        );
      }),
    );
  });

  it('uses a group for each day and team, and none that another could be taken for', () => {
    const groups = [
      dayGroup('2026-11-21'),
      teamGroup('2026-11-21', 'a'),
      teamGroup('2026-11-21', 'b'),
      teamGroup('2026-11-20', 'a'),
    ];
    expect(new Set(groups).size).toBe(groups.length);
  });
});

describe('a day', () => {
  it('shows requests by MCP where there were any', () => {
    expect(readDay('2026-11-21', 'a', new Map([['viaMcp', 2]]))).toMatchObject({ requests: 0, viaMcp: 2 });
  });

  it('shows every field, those nobody counted as 0, and no others', () => {
    const group = new Map([
      ['requests', 3],
      ['from-another-release', 9],
    ]);
    expect(readDay('2026-11-21', 'a', group)).toEqual({
      day: '2026-11-21',
      team: 'a',
      requests: 3,
      hits: 0,
      stale: 0,
      misses: 0,
      upstreamCalls: 0,
      upstreamCallsSaved: 0,
      rows: 0,
      bytesOut: 0,
      errors: 0,
      rateLimited: 0,
    });
  });

  it('of which nothing is known is none', () => {
    expect(readDay('2026-11-21', 'a', new Map())).toBeNull();
  });
});
