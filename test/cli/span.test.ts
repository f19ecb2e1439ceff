import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { counted, until } from '../../src/cli/span.js';
import { renderFields, renderTable } from '../../src/cli/table.js';
import { readSpan, span } from '../../src/lib/words.js';

describe('lengths of time', () => {
  it.each([
    [0, '0 s'],
    [59, '59 s'],
    [61, '1 min 1 s'],
    [7500, '2 h 5 min'],
    [-7500, '−2 h 5 min'],
    [86_400, '1 d'],
    [90_061, '1 d 1 h'],
  ])('%s s are %s', (seconds, text) => {
    expect(span(seconds)).toBe(text);
  });

  it('are read as they are written, in one unit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (count) => {
        expect(readSpan(`${count}s`)).toBe(count);
        expect(readSpan(`${count}min`)).toBe(count * 60);
        expect(readSpan(`${count}m`)).toBe(count * 60);
        expect(readSpan(`${count}h`)).toBe(count * 3600);
        expect(readSpan(`${count}d`)).toBe(count * 86_400);
      }),
    );
  });

  it.each(['', '3', 'h', '-1h', '1.5h', '1 h', '1w', '1h30min', '١h'])('are not %j', (text) => {
    expect(readSpan(text)).toBeNull();
  });

  it('are told from numbers of things', () => {
    expect([0, 1, 2].map((count) => counted(count, 'key'))).toEqual(['0 keys', '1 key', '2 keys']);
  });

  it('until a time look both ways', () => {
    const nowMs = Date.parse('2026-11-21T00:00:00Z');
    expect(until('2026-11-22T01:00:00Z', nowMs)).toBe('in 1 d 1 h');
    expect(until('2026-11-20T23:00:00Z', nowMs)).toBe('1 h ago');
    expect(until('2026-11-21T00:00:00.400Z', nowMs)).toBe('now');
    expect(until(null, nowMs)).toBe('never');
  });
});

describe('tables', () => {
  it('have columns as wide as they must be, and numbers to the right', () => {
    expect(
      renderTable(
        ['day', 'rows'],
        [
          ['2026-11-01', 7],
          ['today', null],
        ],
      ),
    ).toBe('day         rows\n----------  ----\n2026-11-01     7\ntoday          –\n');
  });

  it('and fields never move the cursor', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const shown = renderTable(['a'], [[text]]) + renderFields([['a', text]]);
        expect(shown.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
        expect(renderFields([['a', text]]).split('\n')).toHaveLength(2);
      }),
    );
  });
});
