/** What has to change so that the teams are as declared: nothing more, and nothing of what is managed by hand. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completeTeam, type NewTeam, type Team } from '../../../src/teams/auth/team.js';
import { countChanges, describeChanges } from '../../../src/teams/declared/describe-changes.js';
import { isWritten, planTeams, REMOVED, type TeamChange } from '../../../src/teams/declared/plan-teams.js';
import { newTeams } from './team-arbitraries.js';

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
  it('leads to what is declared, and then there is nothing left to do', () => {
    fc.assert(
      fc.property(newTeams, existingTeams, removed, (declared, existing, rule) => {
        const then = applied(existing, planTeams(declared, existing, rule));
        for (const body of declared) expect(then.find(({ id }) => id === body.id)).toEqual(byFile(body));
        expect(planTeams(declared, then, rule).filter(isWritten)).toEqual([]);
      }),
    );
  });

  it('leaves alone what is managed by hand and not declared', () => {
    fc.assert(
      fc.property(newTeams, existingTeams, removed, (declared, existing, rule) => {
        const then = applied(existing, planTeams(declared, existing, rule));
        const ids = new Set(declared.map(({ id }) => id));
        const others = existing.filter(({ id, managedBy }) => managedBy === undefined && !ids.has(id));
        expect(then).toEqual(expect.arrayContaining(others));
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
    expect(planTeams([], [gone], 'keep').filter(isWritten)).toEqual([]);
  });

  it('takes over what was made by hand', () => {
    const before = completeTeam({ id: 'growth' });
    expect(planTeams([{ id: 'growth' }], [before], 'keep')).toEqual([
      { id: 'growth', action: 'update', before, after: { ...before, managedBy: 'file' } },
    ]);
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
    '? gone is no longer in the file: kept as it is (--release: manage it by hand; --prune: delete it)',
  ]);
  expect(countChanges(changes)).toBe(
    '1 created, 2 changed, 1 as declared already, 1 kept though not declared',
  );
  expect(describeChanges(planTeams([], existing, 'delete'))).toEqual([
    '- same is no longer in the file: deleted, and its keys revoked for good',
    '- changed is no longer in the file: deleted, and its keys revoked for good',
    '- gone is no longer in the file: deleted, and its keys revoked for good',
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
    '    writeGuard                               taken away',
    `    writeGuard.${create}  {"budget":{"field":"body.total","maxPerCall":1}} → none`,
  ]);
  const otherwise = { budget: { maxPerCall: 1, field: 'body.total' } };
  expect(linesOf({ [create]: rule(1) }, { [create]: otherwise }, 'b')).toEqual(['    name  a → b']);
});
