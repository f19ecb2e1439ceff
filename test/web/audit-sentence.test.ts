/** What the console says of entries of the audit. */
import { expect, it } from 'vitest';
import { sentenceOf } from '../../src/web/console/audit-sentence.js';

const said = (action: string, subject: string) =>
  sentenceOf({ id: '1', at: '2026-11-22T12:00:00.000Z', actor: 'gateway', address: null, action, subject });

it('has a sentence for what the gateway does by itself', () => {
  const own = ['recover', 'refused', 'accepted'].map((name) => `token.${name}`);
  const registry = ['adopt', 'mend', 'migrate', 'restore'].map((name) => `registry.${name}`);
  for (const action of [...own, ...registry]) expect(said(action, 'x')).not.toContain(action);
});

it('tells that days from a capped answer were purged, not that answers were marked', () => {
  expect(said('cache.uncap', 'campaigns/get')).toBe(
    'The gateway purged days of campaigns/get that came from a truncated answer',
  );
});
