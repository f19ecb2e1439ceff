/** The chart of `dsp-gateway report get --chart`. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderChart, sparkline } from '../../src/commands/report-chart.js';

const row = (date: string, more: object) => ({ date, advertiserId: 1, currency: 'EUR', ...more });

describe('a sparkline', () => {
  it('goes from the smallest to the largest, and leaves out what is not known', () => {
    expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7])).toBe('▁▂▃▄▅▆▇█');
    expect(sparkline([3, null, -4])).toBe('█ ▁');
    expect(sparkline([5, 5])).toBe('▁▁');
    expect(sparkline([0, Number.MIN_VALUE])).toBe('▁█');
    expect(sparkline([null])).toBe(' ');
  });

  it('has a mark for each number, the highest for the largest, whatever they are', () => {
    const numbers = fc.array(fc.option(fc.double({ noNaN: true, min: -1e15, max: 1e15 })), { minLength: 1 });
    fc.assert(
      fc.property(numbers, (all) => {
        const marks = [...sparkline(all)];
        expect(marks.length).toBe(all.length);
        const known = all.filter((one) => one !== null);
        for (const [index, one] of all.entries()) expect(marks[index] === ' ').toBe(one === null);
        if (new Set(known).size > 1) expect(marks[all.indexOf(Math.max(...known))]).toBe('█');
      }),
    );
  });
});

describe('a chart', () => {
  it('has a line for each number of a period, days without rows left open, and none for ids', () => {
    const rows = [row('2026-11-01', { clicks: 1, spent: 0.1 }), row('2026-11-03', { clicks: 9, spent: 0.2 })];
    expect(renderChart(rows, '2026-11-01', '2026-11-04')?.split('\n').slice(2)).toEqual([
      expect.stringMatching(/^clicks {2}▁ █ +1 +9 +9$/),
      expect.stringMatching(/^spent {3}▁ █ +0\.1 +0\.2 +0\.2$/),
      '',
    ]);
  });

  it('adds up what adds up over the rows of a day, and says why it does not draw the rest', () => {
    const day = '2026-11-01';
    const rows = [row(day, { spent: 0.1, reach: 5 }), row(day, { spent: 0.2, reach: 5 })];
    const chart = renderChart(rows, null, null);
    expect(chart).toMatch(/^spent +▁ +0\.3 +0\.3 +0\.3$/m);
    expect(chart).toContain('reach is not drawn: a day has several rows, and it does not add up over them\n');
    const mixed = [...rows, row(day, { spent: 1, reach: 1, currency: 'USD' })];
    expect(renderChart(mixed, null, null)).toContain(
      'spent is not drawn: the rows are of more than one currency',
    );
  });

  it('takes means where a period has more days than a line has room for', () => {
    const rows = [row('2026-01-01', { clicks: 1 }), row('2026-12-31', { clicks: 3 })];
    const chart = renderChart(rows, '2026-01-01', '2026-12-31') ?? '';
    expect(chart).toContain('2026-01-01 to 2026-12-31, a mark for the mean of 6 days');
    expect(chart).toMatch(/^clicks {2}▁ {59}█/m);
  });

  it('needs days', () => {
    expect(renderChart([{ clicks: 1 }], '2026-11-01', '2026-11-02')).toBeNull();
  });
});
