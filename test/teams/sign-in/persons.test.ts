import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { reseal } from '../../../src/api/admin/token.js';
import { fixedSecret } from '../../../src/config/secret.js';
import type { PersonRule } from '../../../src/config/sign-in-settings.js';
import { createSealer } from '../../../src/platform/credential/seal.js';
import { openPepper } from '../../../src/teams/auth/pepper.js';
import { revocationsFor, sealedAndKeys } from '../../../src/teams/auth/succession-rules.js';
import { createPersons, PERSON_PREFIX, personId } from '../../../src/teams/sign-in/persons.js';
import { openEmbedded, openInMemory, openReplica } from '../../support/shared-registry.js';
import { createTestClock, DAY } from '../../support/test-clock.js';

const KEY = randomBytes(32).toString('base64');
const sealerOf = (...keys: string[]) => createSealer(fixedSecret('GATEWAY_MASTER_KEY', keys.join(',')));

const PEOPLE: PersonRule[] = [
  { when: { groups: 'admins' }, admin: 'owner' },
  { when: { groups: 'data' }, teams: ['data'], keys: true },
];
const ISSUER = 'https://login.company.example';
const ADA = {
  issuer: ISSUER,
  sub: 'ada',
  claims: { name: 'Ada L.', groups: ['data', 'x'], email: 'ada@c.example' },
};
const ADA_ID = personId(ISSUER, 'ada');

async function openPersons({ store = openInMemory(), keys = [KEY], people = PEOPLE, issuer = ISSUER } = {}) {
  const clock = createTestClock();
  const replica = await openReplica(await store, { clock });
  const persons = createPersons(
    replica.registry,
    sealerOf(...keys),
    { issuer, people, keysNeedSignInDays: 30 },
    clock,
  );
  return { ...replica, clock, persons };
}

describe('a person', () => {
  it.each([
    ['the embedded store', openEmbedded],
    ['a store that replicas share', openInMemory],
  ])('is known by the last sign-in in %s, to other replicas too', async (_, open) => {
    const store = open();
    const [here, there] = [await openPersons({ store }), await openPersons({ store })];
    const person = await here.persons.signIn(ADA);
    expect(person).toEqual({
      id: ADA_ID,
      issuer: ISSUER,
      sub: 'ada',
      name: 'Ada L.',
      signedInAtMs: here.clock.now(),
      grant: { admin: null, teams: ['data'], keys: true },
    });
    await there.registry.refresh();
    expect(there.persons.find(ADA_ID)).toEqual(person);
    expect(there.persons.list()).toEqual([person]);
  });

  it('is judged by the next sign-in at once', async () => {
    const { persons, clock } = await openPersons();
    await persons.signIn(ADA);
    clock.advance(1000);
    await persons.signIn({ ...ADA, claims: { groups: ['admins'] } });
    expect(persons.find(ADA_ID)).toMatchObject({
      name: 'ada',
      signedInAtMs: clock.now(),
      grant: { admin: 'owner', teams: [], keys: false },
    });
  });

  it("is judged by today's list, by all groups of the last sign-in", async () => {
    const store = openInMemory();
    await (await openPersons({ store })).persons.signIn(ADA);
    const later = await openPersons({ store, people: [{ when: { groups: 'x' }, teams: '*' }] });
    expect(later.persons.find(ADA_ID)?.grant).toEqual({ admin: null, teams: '*', keys: false });
  });

  it('has working keys for 30 days after a sign-in, of teams for which the list of today gives keys', async () => {
    const store = openInMemory();
    const { persons, clock } = await openPersons({ store });
    const fault = (by = persons, team = 'data') => by.keyFault(ADA_ID, team, clock.now());
    expect(fault()).toBe('long-ago');
    await persons.signIn(ADA);
    expect(fault()).toBeNull();
    expect(fault(persons, 'sales')).toBe('not-allowed');
    const people = [{ when: { groups: 'data' }, teams: ['data'] }];
    expect(fault((await openPersons({ store, people })).persons)).toBe('not-allowed');
    clock.advance(30 * DAY);
    expect(fault()).toBeNull();
    clock.advance(1);
    expect(fault()).toBe('long-ago');
    await persons.signIn(ADA);
    expect(fault()).toBeNull();
  });

  it('is issuer and sub: the same sub of another issuer is another one, with the rules of its own settings', async () => {
    const store = openInMemory();
    const other = `${ISSUER}/other`;
    const [one, two] = [await openPersons({ store }), await openPersons({ store, issuer: other })];
    await one.persons.signIn(ADA);
    await two.registry.refresh();
    await two.persons.signIn({ ...ADA, issuer: other });
    expect(two.persons.list().map(({ issuer, grant }) => [issuer, grant.keys])).toEqual(
      expect.arrayContaining([
        [ISSUER, false],
        [other, true],
      ]),
    );
    expect(two.persons.list()).toHaveLength(2);
    expect(personId('a', 'b/c')).not.toBe(personId('a/b', 'c'));
  });

  it('is stored sealed, without claims that the list does not name', async () => {
    const { persons, registry } = await openPersons();
    await persons.signIn(ADA);
    const { value } = registry.get(PERSON_PREFIX + ADA_ID) ?? { value: '' };
    for (const part of ['ada', 'Ada', 'data', ISSUER]) expect(value).not.toContain(part);
    const { sealed } = JSON.parse(value) as { sealed: string };
    expect(sealerOf(KEY).open(sealed, `sign-in of ${ADA_ID}`).toString()).not.toContain('c.example');
  });

  it('with 10,000 groups keeps those that the list names; with too many of these is refused', async () => {
    const groups = Array.from({ length: 10_000 }, (_, at) => `group-${at}`);
    const { persons, registry } = await openPersons();
    const person = await persons.signIn({ ...ADA, claims: { groups: [...groups, 'data'] } });
    expect(person.grant.teams).toEqual(['data']);
    expect(registry.get(PERSON_PREFIX + ADA_ID)?.value.length).toBeLessThan(1000);
    const people = groups.map((group): PersonRule => ({ when: { groups: group }, teams: ['a'] }));
    const others = await openPersons({ people });
    await expect(others.persons.signIn({ ...ADA, claims: { groups } })).rejects.toMatchObject({
      code: 'no_access',
      message: expect.stringContaining('4096 bytes'),
    });
    expect(others.persons.list()).toEqual([]);
    await others.persons.signIn({ ...ADA, claims: { groups: 'group-1' } });
    expect(others.persons.find(ADA_ID)?.grant.teams).toEqual(['a']);
    await expect(others.persons.signIn({ ...ADA, claims: { groups } })).rejects.toThrow('4096 bytes');
    expect(others.persons.find(ADA_ID)?.grant.teams).toEqual([]);
  });

  it('has a name without control characters, of 200 characters at most', async () => {
    const { persons } = await openPersons();
    const named = async (claims: object) => (await persons.signIn({ ...ADA, claims: { ...claims } })).name;
    expect(await named({ name: 7, preferred_username: ' a\u0000\u202eb ' })).toBe('ab');
    expect(await named({ name: 'x'.repeat(1000) })).toHaveLength(200);
    expect(await named({ name: '\n' })).toBe('ada');
  });

  it('is forgotten by a later sign-in of another one, when no key can need it any more', async () => {
    const { persons, clock } = await openPersons();
    await persons.signIn(ADA);
    clock.advance(30 * DAY);
    await persons.signIn({ ...ADA, sub: 'bob' });
    expect(persons.list()).toHaveLength(2);
    clock.advance(1);
    await persons.signIn({ ...ADA, sub: 'bob' });
    expect(persons.list().map(({ sub }) => sub)).toEqual(['bob']);
  });

  it('stays known under a new master key after a reseal, and signs in again without one', async () => {
    const store = openInMemory();
    const { persons, registry, clock } = await openPersons({ store });
    await openPepper(registry, sealerOf(KEY));
    const known = await persons.signIn(ADA);
    const next = randomBytes(32).toString('base64');
    expect((await openPersons({ store, keys: [next] })).persons.find(ADA_ID)).toBeNull();
    const sealer = sealerOf(next, KEY);
    const { records } = await reseal({ name: 'alice', address: null }, { registry, sealer, clock });
    expect(records).toContain(`${PERSON_PREFIX}*`);
    const after = await openPersons({ store, keys: [next] });
    expect(after.persons.find(ADA_ID)).toEqual(known);
    expect(sealedAndKeys([PERSON_PREFIX + ADA_ID, 'team/a'])).toEqual([PERSON_PREFIX + ADA_ID]);
  });

  it('has the later of two sign-ins when another registry is adopted', async () => {
    const { persons, registry, clock } = await openPersons();
    const texts = () => new Map(registry.list(PERSON_PREFIX).map(([id, { value }]) => [id, value]));
    await persons.signIn(ADA);
    const before = texts();
    clock.advance(1000);
    await persons.signIn({ ...ADA, claims: {} });
    expect(revocationsFor(texts(), before)).toEqual(texts());
    expect(revocationsFor(before, texts())).toEqual(new Map());
  });
});
