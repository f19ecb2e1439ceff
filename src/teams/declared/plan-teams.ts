/** Plans the changes from existing to declared teams. Pure. */
import { completeTeam, type NewTeam, type Team, withUnknown } from '../auth/team.js';

/** Options for teams that are no longer in the file. */
export const REMOVED = ['keep', 'release', 'delete'] as const;
export type Removed = (typeof REMOVED)[number];

export interface TeamChange {
  readonly id: string;
  /** `none`: unchanged. `keep`, `release` (to be managed by hand), `delete`: no longer declared. */
  readonly action: 'create' | 'update' | 'none' | Removed;
  readonly before: Team | null;
  readonly after: Team | null;
}

/** Declared teams in the file's order, then those no longer declared. Teams managed by hand are ignored. */
export function planTeams(
  declared: readonly NewTeam[],
  existing: readonly Team[],
  removed: Removed,
): TeamChange[] {
  const byId = new Map(existing.map((team) => [team.id, team]));
  const ids = new Set(declared.map(({ id }) => id));
  const gone = existing.filter(({ id, managedBy }) => managedBy === 'file' && !ids.has(id));
  return [
    ...declared.map((body): TeamChange => {
      const before = byId.get(body.id) ?? null;
      const declared: Team = { ...completeTeam(body), managedBy: 'file' };
      if (before === null) return { id: body.id, action: 'create', before, after: declared };
      const after = withUnknown(declared, before);
      return isSame(before, after)
        ? { id: body.id, action: 'none', before, after: before }
        : { id: body.id, action: 'update', before, after };
    }),
    ...gone.map((before): TeamChange => {
      const after = removed === 'delete' ? null : removed === 'release' ? byHand(before) : before;
      return { id: before.id, action: removed, before, after };
    }),
  ];
}

export function isWritten({ action }: TeamChange): boolean {
  return action !== 'none' && action !== 'keep';
}

function byHand({ managedBy: _, ...team }: Team): Team {
  return team;
}

/** The order of scopes, advertisers and addresses does not count. */
function isSame(left: Team, right: Team): boolean {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]) as Set<keyof Team>;
  return [...names].every((name) => canonical(left[name]) === canonical(right[name]));
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return JSON.stringify(value.map((item) => JSON.stringify(item)).sort());
  if (typeof value === 'object' && value !== null) return JSON.stringify(Object.entries(value).sort());
  return JSON.stringify(value) ?? '';
}
