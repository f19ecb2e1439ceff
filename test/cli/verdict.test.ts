import { expect, it } from 'vitest';
import { renderFinding } from '../../src/cli/verdict.js';

it('a finding says since when it lasts', () => {
  const found = { level: 'warning', says: 'Calls fail.', do: null, since: '2026-11-21T12:00:00.000Z' };
  const nowMs = Date.parse('2026-11-21T12:05:00.000Z');
  expect(renderFinding(found, nowMs)).toBe('WARNING: Calls fail.\n  since: 12:00 UTC (5 minutes)\n');
});
