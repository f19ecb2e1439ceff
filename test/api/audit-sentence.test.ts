/** What console and command line say of entries of the audit. */
import { expect, it } from 'vitest';
import {
  type AuditEntry,
  changedIn,
  foldSignIns,
  sentenceOf,
} from '../../src/api/operations/audit-sentence.js';

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

it('puts names beside the ids of teams, advertisers and tokens', () => {
  const of = (action: string, subject: string, after?: object) =>
    sentenceOf(
      { id: '1', at: '', actor: 'ada', address: null, action, subject, after },
      (kind, id) => `${kind} ${id}`,
    );
  expect(of('team.create', 'growth')).toBe('ada created the team team growth');
  expect(of('writes.stop', 'the team growth', { teamId: 'growth' })).toBe(
    'ada stopped writes of the team team growth',
  );
  expect(of('writes.stop', 'all teams', { teamId: null })).toBe('ada stopped writes of all teams');
  expect(of('cache.purge', 'advertiser 1')).toBe('ada purged advertiser advertiser 1 from the cache');
  const after = { active: null, pending: { id: 'tok_1', fingerprint: 'b998' } };
  expect(of('token.stage', 'tok_1', after)).toBe('ada staged the token b998 (tok_1)');
  expect(of('token.discard', 'tok_1', { active: null, pending: null })).toBe('ada discarded the token tok_1');
});

it('names both tokens when the gateway replaces an unusable one', () => {
  const token = (id: string, fingerprint: string) => ({ id, fingerprint });
  const entry = {
    id: '1',
    at: '',
    actor: 'gateway',
    address: null,
    action: 'token.recover',
    subject: 'tok_2',
  };
  const [before, after] = [{ active: token('tok_1', '11aa') }, { active: token('tok_2', '6ee8') }];
  expect(sentenceOf({ ...entry, before, after })).toBe(
    'The gateway replaced the unusable token 11aa (tok_1) by 6ee8 (tok_2)',
  );
  expect(sentenceOf({ ...entry, before: { active: null }, after })).toBe(
    'The gateway replaced an unusable token by 6ee8 (tok_2)',
  );
});

it('names a key by its label and team, as far as the entry has them', () => {
  const of = (after?: object) => said('key.roll', 'key_1', after);
  expect(of({ label: 'spreadsheet', teamId: 'finance' })).toBe(
    'The gateway rolled the key spreadsheet of finance',
  );
  expect(of({ label: 'spreadsheet', teamId: 'finance', prefix: 'dgw_xEeSGk' })).toBe(
    'The gateway rolled the key spreadsheet dgw_xEeSGk… of finance',
  );
  expect(of({ label: '', teamId: 'finance' })).toBe('The gateway rolled the key key_1 of finance');
  expect(of()).toBe('The gateway rolled the key key_1');
});

it('names a person, and says that the name is none of a token', () => {
  const signedIn = { id: '1', at: '', address: null, action: 'session.open', subject: 'person_1' };
  const ada = { actor: 'person', issuer: 'https://login.company.example', sub: '1', name: 'gateway' };
  expect(sentenceOf({ ...signedIn, ...ada })).toBe('gateway (company account) signed in to the console');
  expect(sentenceOf({ ...signedIn, actor: 'ada' })).toBe('ada signed in to the console');
});

it('tells who made, rolled and revoked a key of a person', () => {
  const ada = { actor: 'person', issuer: 'https://login.company.example', sub: '1', name: 'Ada' };
  const after = { label: 'notebook', teamId: 'growth', maker: 'person_1' };
  const entry = { id: '1', at: '', address: null, subject: 'key_1', after };
  const of = (action: string, actor: object) =>
    sentenceOf({ ...entry, action, actor: 'olga', ...actor }, (kind, id) => `${kind} ${id}`);
  expect(of('key.issue', ada)).toBe('Ada (company account) made the key notebook of team growth for own use');
  expect(of('key.roll', ada)).toBe('Ada (company account) rolled the key notebook of team growth');
  expect(of('key.revoke', ada)).toBe(
    'Ada (company account) revoked the key notebook of team growth, made by person person_1',
  );
  expect(of('key.revoke', {})).toBe('olga revoked the key notebook of team growth, made by person person_1');
});

it('tells where a person signed in, signed out and was refused', () => {
  const ada = { actor: 'person', issuer: 'https://login.company.example', sub: '1', name: 'Ada' };
  const of = (action: string, plane: string) =>
    sentenceOf({ id: '1', at: '', address: null, action, subject: 'person_1', after: { plane }, ...ada });
  expect(of('session.open', 'data')).toBe('Ada (company account) signed in to the explorer');
  expect(of('session.close', 'admin')).toBe('Ada (company account) signed out of the console');
  expect(of('session.refuse', 'admin')).toBe(
    'Ada (company account) was refused by the console: no rule gives this account access to it',
  );
});

it('folds sign-ins of one person to one place until another entry, and keeps all others', () => {
  const [ada, bob] = ['ada', 'bob'].map((sub) => ({
    actor: 'person',
    sub,
    name: sub,
    address: null,
    subject: sub,
  }));
  const at = (minute: number) => `2026-11-22T12:0${minute}:00.000Z`;
  const entry = (minute: number, who: object | undefined, plane: string, action = 'session.open') =>
    ({ id: `${minute}`, at: at(minute), action, after: { plane }, ...who }) as AuditEntry;
  const told = foldSignIns([
    entry(9, ada, 'data'),
    entry(8, bob, 'data'),
    entry(7, ada, 'data'),
    entry(6, ada, 'admin'),
    entry(5, ada, 'data'),
    entry(4, ada, 'data', 'session.close'),
    entry(3, ada, 'data'),
  ]);
  expect(told.map((one) => [one.entry.id, one.times, one.firstAt])).toEqual([
    ['9', 3, at(5)],
    ['8', 1, at(8)],
    ['6', 1, at(6)],
    ['4', 1, at(4)],
    ['3', 1, at(3)],
  ]);
});

it('names whose session was ended', () => {
  const of = (subject: string) =>
    sentenceOf(
      { id: '1', at: '', actor: 'olga', address: null, action: 'session.revoke', subject },
      (kind, id) => (id.includes('_') ? `${kind} ${id}` : id),
    );
  expect(of('person_1')).toBe('olga ended a session of person person_1');
  expect(of('key_1')).toBe('olga ended a session of key key_1');
  expect(of('ada')).toBe('olga ended a session of ada');
});

it('says the reason of an action that has one', () => {
  const entry = { id: '1', at: '', address: null, actor: 'ada', subject: 'all teams', before: null };
  expect(sentenceOf({ ...entry, action: 'writes.resume', after: { reason: 'budgets are right' } })).toBe(
    'ada resumed writes of all teams: “budgets are right”',
  );
});

it('says that a step of a rotation failed, and of which token', () => {
  const failed = { failed: true, reason: 'The previous token has expired.' };
  expect(said('token.rollback', 'tok_1', failed)).toBe('The gateway failed to roll back to the token tok_1');
  expect(said('token.activate', 'vault', failed)).toBe('The gateway failed to activate a token');
});

it('tells in short what changed in a team, and nothing of what is new, gone or a token', () => {
  const before = { id: 'finance', limits: { requestsPerMinute: 600 }, name: 'Finance', a: 1, b: 1, c: 1 };
  const after = { ...before, limits: { requestsPerMinute: 30 } };
  const at = '2026-11-22T12:00:00.000Z';
  const of = (action: string, was: unknown, is: unknown) => changedIn({ at, action, before: was, after: is });
  expect(of('team.update', before, after)).toBe('requests per minute 600 → 30');
  expect(of('team.update', before, { ...after, name: 'Fin', a: 2, b: 2, c: 2 })).toBe(
    'requests per minute 600 → 30, name Finance → Fin, a 1 → 2 and 2 more',
  );
  expect(
    of('team.update', { limits: { upstreamCallsPerDay: 5000 } }, { limits: { upstreamCallsPerDay: 46 } }),
  ).toBe('platform calls a day 5000 → 46');
  const rolled = (validUntil: string) =>
    of(
      'key.roll',
      { prefix: 'dgw_xEeSGk', previous: null },
      { prefix: 'dgw_new', previous: { prefix: 'dgw_xEeSGk', validUntil } },
    );
  expect(rolled(at)).toBe('its old secret dgw_xEeSGk… ended at once');
  expect(rolled('2026-11-23T12:00:00.000Z')).toBe(
    'its old secret dgw_xEeSGk… is valid until 2026-11-23 12:00 UTC',
  );
  expect(of('team.create', null, after)).toBe(null);
  expect(of('token.activate', { active: null }, { active: { id: 'tok_1' } })).toBe(null);
});
