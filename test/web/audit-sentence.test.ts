/** What the console says of entries of the audit. */
import { expect, it } from 'vitest';
import { sentenceOf } from '../../src/web/console/audit-sentence.js';

const said = (action: string, subject: string, after?: object) =>
  sentenceOf({
    id: '1',
    at: '2026-11-22T12:00:00.000Z',
    actor: 'gateway',
    address: null,
    action,
    subject,
    after,
  });

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

it('names a key by its label and team, as far as the entry has them', () => {
  const of = (after?: object) => said('key.roll', 'key_1', after);
  expect(of({ label: 'spreadsheet', teamId: 'finance' })).toBe(
    'The gateway rolled the key spreadsheet of finance',
  );
  expect(of({ label: '', teamId: 'finance' })).toBe('The gateway rolled the key key_1 of finance');
  expect(of()).toBe('The gateway rolled the key key_1');
});
