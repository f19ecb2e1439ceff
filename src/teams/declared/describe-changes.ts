/** Planned changes as text. */
import type { Team } from '../auth/team.js';
import type { TeamChange } from './plan-teams.js';

const SIGNS: Readonly<Record<TeamChange['action'], string>> = {
  create: '+ ',
  update: '~ ',
  none: '= ',
  keep: '? ',
  release: '~ ',
  delete: '- ',
};

const REMARKS: Readonly<Partial<Record<TeamChange['action'], string>>> = {
  keep: ' is no longer in the file: kept unchanged (--release: manage it by hand; --prune: delete it)',
  release: ' is no longer in the file: managed by hand from now on',
  delete: ' is no longer in the file: deleted, and its keys revoked permanently',
};

/** @returns a line per team, followed by a line per changed member */
export function describeChanges(changes: readonly TeamChange[]): string[] {
  return changes.flatMap(({ id, action, before, after }) => [
    `${SIGNS[action]}${id}${REMARKS[action] ?? ''}`,
    ...(after === null || action === 'none' || action === 'keep' || action === 'release'
      ? []
      : memberLines(before, after)),
  ]);
}

/** E.g. `3 created, 1 changed, 4 unchanged`. */
export function countChanges(changes: readonly TeamChange[]): string {
  const words: readonly (readonly [TeamChange['action'], string])[] = [
    ['create', 'created'],
    ['update', 'changed'],
    ['release', 'released'],
    ['delete', 'deleted'],
    ['none', 'unchanged'],
    ['keep', 'kept (not in the file)'],
  ];
  const parts = words.flatMap(([action, word]) => {
    const count = changes.filter((change) => change.action === action).length;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  return parts.length === 0 ? 'no teams' : parts.join(', ');
}

function memberLines(before: Team | null, after: Team): string[] {
  const left = before === null ? new Map<string, unknown>() : flatten(before);
  const right = new Map([...guardAsWhole(before, after), ...flatten(after)]);
  const names = [...new Set([...right.keys(), ...left.keys()])];
  const changed = names
    .map((name) => [name, memberChange(left.get(name), right.get(name))] as const)
    .filter(([name, change]) => change !== '' && !(before === null && name === 'managedBy'));
  const width = Math.max(0, ...changed.map(([name]) => name.length));
  return changed.map(([name, change]) => `    ${name.padEnd(width)}  ${change}`);
}

/** Limits and guarded routes by their names; without the id. */
function flatten({ id: _, limits, writeGuard, ...rest }: Team): Map<string, unknown> {
  const inner = Object.entries(limits).map(([name, value]) => [`limits.${name}`, value] as const);
  const rules = Object.entries(writeGuard ?? {}).map(
    ([route, rule]) => [`writeGuard.${route}`, JSON.stringify(rule, inOrder)] as const,
  );
  return new Map<string, unknown>([...Object.entries(rest), ...inner, ...rules]);
}

/** A removed guard allows every write; a guard without routes refuses every write. */
function guardAsWhole(before: Team | null, { writeGuard: after }: Team): [string, unknown][] {
  if (after === undefined) return before?.writeGuard === undefined ? [] : [['writeGuard', 'removed']];
  const isEmpty = (guard: Team['writeGuard']) => guard !== undefined && Object.keys(guard).length === 0;
  return isEmpty(after) && !isEmpty(before?.writeGuard)
    ? [['writeGuard', 'no route: every write is refused']]
    : [];
}

/** A JSON replacer: the order of members does not count. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Only added and removed items of two lists. */
function memberChange(before: unknown, after: unknown): string {
  if (Array.isArray(before) && Array.isArray(after)) {
    const came = after.filter((item) => !before.includes(item)).map((item) => `+${item}`);
    const went = before.filter((item) => !after.includes(item)).map((item) => `-${item}`);
    return [...came, ...went].join(' ');
  }
  if (before === undefined) return text(after);
  return text(before) === text(after) ? '' : `${text(before)} → ${text(after)}`;
}

/** Without line breaks, which would look like separate lines. */
function text(value: unknown): string {
  if (value === undefined) return 'none';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
  return String(value).replaceAll(/\p{Cc}/gu, '�');
}
