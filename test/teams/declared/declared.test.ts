/** Teams as a file declares them: what it may hold, what has to change, and how it is applied. */

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { RegistryConflict, type Store } from '../../../src/store/port.js';
import { createDirectory, TEAM_PREFIX } from '../../../src/teams/auth/directory.js';
import { completeTeam, type NewTeam, type Team } from '../../../src/teams/auth/team.js';
import { type ApplyOptions, applyTeams } from '../../../src/teams/declared/apply-teams.js';
import { countChanges, describeChanges } from '../../../src/teams/declared/describe-changes.js';
import { parseTeams } from '../../../src/teams/declared/parse-teams.js';
import { isWritten, planTeams, REMOVED, type TeamChange } from '../../../src/teams/declared/plan-teams.js';
import type { Actor, AuditRecord } from '../../../src/telemetry/audit.js';
import { openInMemory, openReplica, withoutBus } from '../../support/shared-registry.js';
import { newTeams } from './team-arbitraries.js';

const faultsOf = (text: string) => parseTeams(text, 'teams.yaml').faults;

describe('a file of teams', () => {
  it('gives the teams it holds, whatever they are called', () => {
    fc.assert(
      fc.property(newTeams, (teams) => {
        expect(parseTeams(stringify({ teams }), 'teams.yaml')).toEqual({ teams, faults: [] });
      }),
    );
  });

  it('may use anchors, and be JSON', () => {
    const anchors = 'teams:\n  - id: a\n    limits: &few {maxRangeDays: 7}\n  - {id: b, limits: *few}\n';
    expect(parseTeams(anchors, 'teams.yaml').teams).toMatchObject([
      { id: 'a', limits: { maxRangeDays: 7 } },
      { id: 'b', limits: { maxRangeDays: 7 } },
    ]);
    expect(parseTeams('{"teams":[{"id":"a"}]}', 'teams.yaml')).toEqual({ teams: [{ id: 'a' }], faults: [] });
  });

  it('has an example that is right', () => {
    const text = readFileSync(new URL('../../../config/teams.example.yaml', import.meta.url), 'utf8');
    const { teams, faults } = parseTeams(text, 'teams.example.yaml');
    expect(faults).toEqual([]);
    expect(teams.map(({ id }) => id)).toEqual(['growth', 'finance']);
  });
});

describe('faults', () => {
  it('name file, line, place and what is allowed, all of them, from top to bottom', () => {
    const text = `teams:
  - id: Growth
    name: ""
    advertisers: [1, 0]
  - id: ok
    advertisers: all
    limits:
      maxRangeDays: 0
      maxRange: 3
    disabled: "no"
    colour:
      red: 1
  - name: without an id
    scopes: [report:read, report:write]
  - 7
`;
    expect(faultsOf(text)).toEqual([
      'teams.yaml:2: teams.0.id: was "Growth"; allowed is lower-case letters, digits and hyphens, at most 40, and not gateway',
      'teams.yaml:3: teams.0.name: was ""; allowed is text of 1 to 200 characters',
      'teams.yaml:4: teams.0.advertisers.1: was 0; allowed is a whole number from 1 to 9007199254740991',
      'teams.yaml:6: teams.1.advertisers: was "all"; allowed is a list of at most 10000 whole numbers from 1 to 9007199254740991, each once, or "*"',
      'teams.yaml:8: teams.1.limits.maxRangeDays: was 0; allowed is a whole number from 1 to 10000',
      'teams.yaml:9: teams.1.limits.maxRange: was set; allowed is no member of this name; known: requestsPerMinute, upstreamCallsPerDay, maxRangeDays, maxConcurrent',
      'teams.yaml:10: teams.1.disabled: was "no"; allowed is true or false',
      expect.stringMatching(/^teams\.yaml:11: teams\.1\.colour: was set; allowed is no member of this name/),
      'teams.yaml:13: teams.2.id: was not set; allowed is lower-case letters, digits and hyphens, at most 40, and not gateway',
      'teams.yaml:14: teams.2.scopes.1: was "report:write"; allowed is one of report:read, report:pin, report:watch, platform:read, platform:write, cache:refresh, mcp',
      expect.stringMatching(/^teams\.yaml:15: teams\.3: was 7; allowed is a mapping of id, name/),
    ]);
  });

  const guarded = (rule: string) =>
    `teams:\n  - id: a\n    writeGuard:\n      POST /api/v1/x:\n        ${rule}`;
  const ofRule = 'teams.0.writeGuard.POST /api/v1/x';
  it.each([
    ['', '1: teams: was not set'],
    ['teams:', '1: teams: was nothing'],
    ['[]', '1: file: was an empty list'],
    ['teams: []\nTeams: []', '2: Teams: was set'],
    ['teams:\n  - id: a\n  - id: b\n  - id: a', '4: teams.2.id: must be unique'],
    ['teams:\n  - id: a\n    ipAllow:\n      - 10.0.0.0/8\n      - 10/8', '5: teams.0.ipAllow.1: must be'],
    ['teams:\n  - id: a\n    managedBy: file', '3: teams.0.managedBy: was set'],
    ['teams: [{id: a}', '1: invalid YAML'],
    ['teams:\n  - id: a\n    id: b', '3: invalid YAML'],
    ['teams:\n  - id: a\n    advertisers: *', '3: undefined alias (*)'],
    ['teams:\n  - id: a\n    advertisers: *all', ' undefined alias (*)'],
    [guarded('budget: {field: body.x, perCall: 1}'), `5: ${ofRule}.budget.perCall: was set`],
    [guarded('amounts:\n          - {field: bid, max: 1}'), `6: ${ofRule}.amounts.0.field: was "bid"`],
    [guarded('budget: {field: body.x}'), `5: ${ofRule}.budget: must have maxPerCall or maxPerDay`],
    ['teams:\n  - id: a\n    __proto__: {disabled: true}', '3: teams.0.__proto__: was set'],
  ])('in %j', (text, fault) => {
    const [found = '', ...others] = faultsOf(text);
    expect([found.slice(0, `teams.yaml:${fault}`.length), others]).toEqual([`teams.yaml:${fault}`, []]);
  });

  it.each(['keys', 'key', 'apiKey'])('never show what stands in the place of a key (%s)', (name) => {
    const faults = faultsOf(`teams:\n  - id: a\n    ${name}: dgw_SECRET\n`);
    expect(faults).toEqual([
      expect.stringMatching(`^teams\\.yaml:3: teams\\.0\\.${name}: was set; .*no key`),
    ]);
    expect(faults.join()).not.toContain('SECRET');
  });

  it('are found whatever the file holds, and never thrown', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map((value) => stringify(value)),
        ),
        (text) => {
          const { teams, faults } = parseTeams(text, 'teams.yaml');
          expect(faults.length > 0 || Array.isArray(teams)).toBe(true);
          for (const fault of faults) expect(fault).toMatch(/^teams\.yaml(:\d+)?: /);
        },
      ),
    );
  });
});

const byFile = (body: NewTeam): Team => ({ ...completeTeam(body), managedBy: 'file' });
const removed = fc.constantFrom(...REMOVED);

/** The teams after the changes. */
function applied(existing: readonly Team[], changes: readonly TeamChange[]): Team[] {
  const teams = new Map(existing.map((team) => [team.id, team]));
  for (const change of changes) {
    if (change.after === null) teams.delete(change.id);
    else teams.set(change.id, change.after);
  }
  return [...teams.values()];
}

const existingTeams = fc
  .tuple(newTeams, fc.func(fc.boolean()))
  .map(([bodies, isByFile]) => bodies.map((body) => (isByFile(body.id) ? byFile(body) : completeTeam(body))));

describe('a plan', () => {
  it('leads to what is declared, leaves alone what else is managed by hand, and is then empty', () => {
    fc.assert(
      fc.property(newTeams, existingTeams, removed, (declared, existing, rule) => {
        const then = applied(existing, planTeams(declared, existing, rule));
        for (const body of declared) expect(then.find(({ id }) => id === body.id)).toEqual(byFile(body));
        const ids = new Set(declared.map(({ id }) => id));
        const others = existing.filter(({ id, managedBy }) => managedBy === undefined && !ids.has(id));
        expect(then).toEqual(expect.arrayContaining(others));
        expect(planTeams(declared, then, rule).filter(isWritten)).toEqual([]);
      }),
    );
  });

  it('keeps, releases or deletes what is not declared any more', () => {
    const gone = byFile({ id: 'gone', advertisers: [1] });
    expect(planTeams([], [gone], 'keep')).toEqual([
      { id: 'gone', action: 'keep', before: gone, after: gone },
    ]);
    expect(planTeams([], [gone], 'release')[0]?.after).toEqual(
      completeTeam({ id: 'gone', advertisers: [1] }),
    );
    expect(planTeams([], [gone], 'delete')[0]?.after).toBeNull();
  });

  it('sees no change in another order', () => {
    const before = byFile({ id: 'a', advertisers: [1, 20, 3], scopes: ['report:read', 'cache:refresh'] });
    const body: NewTeam = { id: 'a', advertisers: [20, 3, 1], scopes: ['cache:refresh', 'report:read'] };
    expect(planTeams([body], [before], 'keep')).toEqual([{ id: 'a', action: 'none', before, after: before }]);
  });
});

it('is told with what changes of each team', () => {
  const existing = [
    byFile({ id: 'same' }),
    byFile({ id: 'changed', advertisers: [1, 2], name: 'Old' }),
    completeTeam({ id: 'taken', advertisers: [4] }),
    byFile({ id: 'gone' }),
  ];
  const declared: NewTeam[] = [
    { id: 'same' },
    { id: 'changed', name: 'New', advertisers: [2, 7], limits: { maxRangeDays: 7 } },
    { id: 'taken', advertisers: '*' },
    { id: 'new', advertisers: [9], scopes: [] },
  ];
  const changes = planTeams(declared, existing, 'keep');
  expect(describeChanges(changes)).toEqual([
    '= same',
    '~ changed',
    '    name                 Old → New',
    '    advertisers          +7 -1',
    '    limits.maxRangeDays  400 → 7',
    '~ taken',
    '    advertisers  4 → *',
    '    managedBy    file',
    '+ new',
    '    name                        new',
    '    scopes                      none',
    '    advertisers                 9',
    '    ipAllow                     none',
    '    defaultFormat               json',
    '    disabled                    false',
    '    limits.requestsPerMinute    600',
    '    limits.upstreamCallsPerDay  5000',
    '    limits.maxRangeDays         400',
    '    limits.maxConcurrent        32',
    '? gone is no longer in the file: kept unchanged (--release: manage it by hand; --prune: delete it)',
  ]);
  expect(countChanges(changes)).toBe('1 created, 2 changed, 1 unchanged, 1 kept (not in the file)');
  expect(describeChanges(planTeams([], existing, 'delete'))).toEqual([
    '- same is no longer in the file: deleted, and its keys revoked permanently',
    '- changed is no longer in the file: deleted, and its keys revoked permanently',
    '- gone is no longer in the file: deleted, and its keys revoked permanently',
  ]);
  expect(countChanges([])).toBe('no teams');
});

it('tells of a write guard each route that comes, goes or changes, and none that is spelt otherwise', () => {
  const [create, update] = ['POST /api/v1/campaign/create', 'PUT /api/v1/campaign/*'];
  const rule = (maxPerCall: number) => ({ budget: { field: 'body.total', maxPerCall } });
  const linesOf = (before: NewTeam['writeGuard'], after: NewTeam['writeGuard'], name = 'a') => {
    const guarded = (writeGuard: NewTeam['writeGuard']) => (writeGuard === undefined ? {} : { writeGuard });
    const existing = byFile({ id: 'a', ...guarded(before) });
    return describeChanges(planTeams([{ id: 'a', name, ...guarded(after) }], [existing], 'keep')).slice(1);
  };
  expect(linesOf(undefined, { [create]: rule(1) })).toEqual([
    `    writeGuard.${create}  {"budget":{"field":"body.total","maxPerCall":1}}`,
  ]);
  expect(linesOf({ [create]: rule(1) }, { [create]: rule(2), [update]: rule(3) })).toEqual([
    `    writeGuard.${create}  {"budget":{"field":"body.total","maxPerCall":1}} → {"budget":{"field":"body.total","maxPerCall":2}}`,
    `    writeGuard.${update}        {"budget":{"field":"body.total","maxPerCall":3}}`,
  ]);
  expect(linesOf({ [create]: rule(1) }, {})).toEqual([
    '    writeGuard                               no route: every write is refused',
    `    writeGuard.${create}  {"budget":{"field":"body.total","maxPerCall":1}} → none`,
  ]);
  expect(linesOf({ [create]: rule(1) }, undefined)).toEqual([
    '    writeGuard                               removed',
    `    writeGuard.${create}  {"budget":{"field":"body.total","maxPerCall":1}} → none`,
  ]);
  const otherwise = { budget: { maxPerCall: 1, field: 'body.total' } };
  expect(linesOf({ [create]: rule(1) }, { [create]: otherwise }, 'b')).toEqual(['    name  a → b']);
});

const ACTOR: Actor = { name: 'ops', address: '192.0.2.1' };
const PEPPER = randomBytes(32);

async function replicaOf(store: Store): Promise<ApplyOptions> {
  const { registry, clock } = await openReplica(store);
  return { registry, clock, directory: createDirectory(registry, () => PEPPER) };
}
const declaration = (teams: NewTeam[]) => ({ teams, removed: 'keep' as const, dryRun: false });
const actions = (changes: readonly TeamChange[]) => changes.map(({ id, action }) => `${action} ${id}`);
const auditOf = async (store: Store): Promise<AuditRecord[]> =>
  (await store.registry.readAudit(100)).map(({ text }) => JSON.parse(text) as AuditRecord);

it('replicas that apply the same file at once make each team once, and none of them fails', async () => {
  // Without messages, so that none of them knows of the others until its commit is refused.
  const store = withoutBus(await openInMemory());
  const replicas = await Promise.all([1, 2, 3].map(() => replicaOf(store)));
  const file = declaration([{ id: 'one', advertisers: [1] }, { id: 'two' }]);
  const done = await Promise.all(replicas.map((replica) => applyTeams(replica, file, ACTOR)));
  const sorted = done.map(actions).sort();
  expect(sorted).toEqual([
    ['create one', 'create two'],
    ['none one', 'none two'],
    ['none one', 'none two'],
  ]);
  const audit = await auditOf(store);
  expect(audit.map(({ action, subject }) => `${action} ${subject}`).sort()).toEqual([
    'team.create one',
    'team.create two',
  ]);
  expect(audit[0]).toMatchObject({ actor: 'ops', address: '192.0.2.1', after: { managedBy: 'file' } });
});

it('a dry run writes nothing; a team that was changed meanwhile is planned anew, not written over unseen', async () => {
  const store = withoutBus(await openInMemory());
  const [mine, other] = [await replicaOf(store), await replicaOf(store)];
  const hand = completeTeam({ id: 'growth', advertisers: [9] });
  await other.registry.commit({ writes: new Map([[`${TEAM_PREFIX}growth`, JSON.stringify(hand)]]) });
  const file = declaration([{ id: 'growth', advertisers: [1] }]);
  expect(actions(await applyTeams(mine, { ...file, dryRun: true }, ACTOR))).toEqual(['create growth']);
  expect([mine.directory.teams(), await auditOf(store)]).toEqual([[], []]);
  const changes = await applyTeams(mine, file, ACTOR);
  // Its present state is what the audit shows as the state before.
  expect(changes).toMatchObject([
    { action: 'update', before: { advertisers: [9] }, after: { advertisers: [1] } },
  ]);
  expect((await auditOf(store))[0]).toMatchObject({ action: 'team.update', before: { advertisers: [9] } });
});

it('nothing of a file is applied when one team cannot be', async () => {
  const store = await openInMemory();
  const replica = await replicaOf(store);
  let tries = 0;
  const registry = {
    ...replica.registry,
    commit: async () => {
      tries += 1;
      throw new RegistryConflict('team/two');
    },
  };
  const file = declaration([{ id: 'one' }, { id: 'two' }]);
  await expect(applyTeams({ ...replica, registry }, file, ACTOR)).rejects.toMatchObject({ code: 'conflict' });
  expect(tries).toBe(5);
  expect(replica.directory.teams()).toEqual([]);
  expect(await auditOf(store)).toEqual([]);
});
