import { expect, it } from 'vitest';
import { withoutConcern } from '../../src/web/console/teams/team.js';

it('keys without concern are said to be used only if they were', () => {
  const [used, unused] = [{ lastUsedAt: '2026-11-21T12:00:00.000Z' }, { lastUsedAt: null }];
  const quiet = 'None: no key expires within 14 days, and each was used or issued in the last 30';
  expect(withoutConcern([used])).toBe(`${quiet}.`);
  expect(withoutConcern([used, unused])).toBe(`${quiet}; one was never used.`);
  expect(withoutConcern([unused, unused])).toBe(`${quiet}; 2 were never used.`);
  expect(withoutConcern([])).toBe('No team has a valid key: issue one on the page of a team.');
});
