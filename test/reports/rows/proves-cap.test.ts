import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import { provesCap } from '../../../src/reports/rows/proves-cap.js';
import { factsOf, RULES, rowsEntry } from './entries.js';

const DATES = ['2026-11-01', '2026-11-02', '2026-11-03'];

/** Days that hold these rows; those of one day may come in any order. */
function daysWith(rows: readonly (readonly number[])[], fetchedOn?: number): Entry<RowsHeader>[] {
  return DATES.map((date, index) => {
    const clicks = rows[index] ?? [];
    const part = rowsEntry(clicks.map((value) => ({ date, clicks: value })));
    const sortedHash = JSON.stringify(clicks.toSorted((a, b) => a - b));
    const facts = factsOf({ lastDay: date, ...(fetchedOn === undefined ? {} : { fetchedOn }) });
    const cut = { from: '2026-11-01', to: '2026-11-03', sortedHash, generation: 'first' };
    return { ...part, header: { ...part.header, ...facts, splitFrom: cut } };
  });
}

const rows = fc.array(fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 6 }), {
  minLength: 3,
  maxLength: 3,
});

describe('halves', () => {
  it('prove a cap when the answer is what is left of them after a number of rows, in whatever order', () => {
    fc.assert(
      fc.property(rows, fc.nat(12), fc.boolean(), (full, cap, newestFirst) => {
        let left = cap;
        const ordered = newestFirst ? full.toReversed() : full;
        const cutOff = ordered.map((day) => {
          const kept = day.slice(0, left);
          left -= kept.length;
          return kept;
        });
        const total = full.flat().length;
        const whole = newestFirst ? cutOff.toReversed() : cutOff;
        expect(provesCap(daysWith(whole), daysWith(full), RULES)).toBe(cap < total);
      }),
    );
  });

  it('do not prove one when they hold less, the same, or lack a row of the answer', () => {
    fc.assert(
      fc.property(rows, fc.nat(2), (full, at) => {
        expect(provesCap(daysWith(full), daysWith(full), RULES)).toBe(false);
        expect(provesCap(daysWith(full), daysWith([[], [], []]), RULES)).toBe(false);
        // A number that no row of the halves has.
        const other = full.map((day, index) => (index === at ? [9, ...day.slice(0, -1)] : day));
        const more = full.map((day, index) => (index === at ? day : [...day, 1]));
        expect(provesCap(daysWith(other), daysWith(more), RULES)).toBe(false);
      }),
    );
  });

  it('may have another type in a column whose texts the cap has left out', () => {
    const of = (clicks: readonly unknown[]) => {
      const [day] = daysWith([[]]);
      const part = rowsEntry(clicks.map((value) => ({ date: '2026-11-01', clicks: value })));
      const sortedHash = JSON.stringify(clicks);
      const cut = { from: '2026-11-01', to: '2026-11-01', sortedHash, generation: 'first' };
      return [
        { ...part, header: { ...part.header, ...day?.header, rowCount: clicks.length, splitFrom: cut } },
      ];
    };
    expect(provesCap(of(['7', '8']), of(['7', '8', 'none']), RULES)).toBe(true);
    expect(provesCap(of(['7', '9']), of(['7', '8', 'none']), RULES)).toBe(false);
  });

  it('may differ on a day that may still change, as long as they do not hold less of it', () => {
    const today = Math.floor(Date.parse('2026-11-03') / 86_400_000);
    const halves = [[1], [1], [2, 3]];
    expect(provesCap(daysWith([[1], [1], [9]], today), daysWith(halves, today), RULES)).toBe(true);
    expect(provesCap(daysWith([[1], [1, 1, 1], []], today), daysWith(halves, today), RULES)).toBe(false);
  });
});
