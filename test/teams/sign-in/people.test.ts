import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PersonRule } from '../../../src/config/sign-in-settings.js';
import { type Claims, grantFor, isOfTeam, keptClaims } from '../../../src/teams/sign-in/people.js';

const NOTHING = { admin: null, teams: [], keys: false };

describe('what a person gets', () => {
  const people: PersonRule[] = [
    { when: { groups: 'dsp-admins' }, admin: 'owner', teams: '*' },
    { when: { groups: 'data' }, admin: 'viewer', teams: ['data'] },
    { when: { groups: 'makers' }, keys: true },
    { when: { email_verified: true, hd: 'company.example' }, teams: ['sandbox'] },
  ];

  it.each<[string, Claims, object]>([
    [
      'the first matching rule that names each right',
      { groups: ['data', 'dsp-admins'] },
      { admin: 'owner', teams: '*' },
    ],
    [
      'rights of several rules',
      { groups: ['makers', 'data'] },
      { admin: 'viewer', teams: ['data'], keys: true },
    ],
    ['a rule by one value', { groups: 'data' }, { admin: 'viewer', teams: ['data'] }],
    [
      'a rule whose claims all match',
      { email_verified: true, hd: 'company.example' },
      { teams: ['sandbox'] },
    ],
    ['nothing, as one of two claims is absent', { hd: 'company.example' }, {}],
    ['nothing, as true is not the text', { email_verified: 'true', hd: 'company.example' }, {}],
    ['nothing, as letters differ in case', { groups: ['Data'] }, {}],
    ['nothing, as a part is not the whole', { groups: 'data, dsp-admins' }, {}],
    ['nothing, as there is no claim', {}, {}],
  ])('is %s', (_, claims, expected) => {
    expect(grantFor(claims, people)).toEqual({ ...NOTHING, ...expected });
  });

  it('does not take what every object has for a claim', () => {
    const rules: PersonRule[] = [{ when: { constructor: 'Object' }, teams: '*' }];
    expect(grantFor(JSON.parse('{"__proto__":{"constructor":"Object"}}'), rules)).toEqual(NOTHING);
  });

  it('finds one group in a list of 10,000', () => {
    const groups = Array.from({ length: 10_000 }, (_, at) => `g${at}`);
    expect(grantFor({ groups: [...groups, 'data'] }, people).admin).toBe('viewer');
    expect(grantFor({ groups }, people)).toEqual(NOTHING);
  });
});

const name = fc.constantFrom('groups', 'hd', 'tid', '__proto__', 'a');
const value = fc.oneof(fc.constantFrom('x', 'y', '1', 'true', ''), fc.constantFrom(1, 0), fc.boolean());
const rule: fc.Arbitrary<PersonRule> = fc.record(
  {
    when: fc.dictionary(name, value, { minKeys: 1, maxKeys: 2, noNullPrototype: true }),
    admin: fc.constantFrom('viewer', 'operator', 'owner'),
    teams: fc.oneof(fc.constant('*' as const), fc.array(fc.constantFrom('t1', 't2'), { minLength: 1 })),
    keys: fc.boolean(),
  },
  { requiredKeys: ['when'] },
);
const rules = fc.array(rule, { maxLength: 6 });
const anything = fc.dictionary(
  name,
  fc.oneof(value, fc.array(fc.oneof(value, fc.constant(null), fc.object())), fc.object()),
  {
    noNullPrototype: true,
  },
);

describe('for every list and every set of claims', () => {
  it('kept claims are judged as all of them, also without values that the list does not name', () => {
    fc.assert(
      fc.property(anything, rules, (claims, people) => {
        const all = grantFor(claims as Claims, people);
        expect(grantFor(keptClaims(claims, people), people)).toEqual(all);
        expect(grantFor(keptClaims(claims, people, true), people)).toEqual(all);
      }),
    );
  });

  it('only claims that the list names are kept, and only plain values', () => {
    fc.assert(
      fc.property(anything, rules, (claims, people) => {
        const named = new Set(people.flatMap(({ when }) => Object.keys(when)));
        for (const [claim, kept] of Object.entries(keptClaims(claims, people))) {
          expect(named.has(claim)).toBe(true);
          for (const one of [kept].flat()) expect(['string', 'number', 'boolean']).toContain(typeof one);
        }
      }),
    );
  });

  it('a rule more at the end takes no right away', () => {
    fc.assert(
      fc.property(anything, rules, rule, (claims, people, last) => {
        const kept = keptClaims(claims, [...people, last]);
        const [before, after] = [grantFor(kept, people), grantFor(kept, [...people, last])];
        if (before.admin !== null) expect(after.admin).toBe(before.admin);
        if (before.teams.length > 0) expect(after.teams).toEqual(before.teams);
        if (before.keys) expect(after.keys).toBe(true);
      }),
    );
  });

  it('a person is of a team if the list says so, or says all', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b')), fc.constantFrom('a', 'b'), (teams, id) => {
        expect(isOfTeam({ admin: null, teams, keys: false }, id)).toBe(teams.includes(id));
        expect(isOfTeam({ admin: null, teams: '*', keys: false }, id)).toBe(true);
      }),
    );
  });
});
