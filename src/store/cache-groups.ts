import type { CachePlace } from './port.js';

/** Places, or what is to be written there, of one group. */
export interface CacheGroup<T extends CachePlace> {
  readonly series: string;
  readonly group: string;
  readonly members: T[];
}

/** Puts together what is of one group, in the order of the first of each. */
export function byGroup<T extends CachePlace>(members: readonly T[]): CacheGroup<T>[] {
  const groups = new Map<string, CacheGroup<T>>();
  let last: CacheGroup<T> | undefined;
  for (const member of members) {
    const { series, group } = member;
    // Most come in order, and share their texts.
    if (last !== undefined && last.group === group && last.series === series) {
      last.members.push(member);
      continue;
    }
    const id = `${series.length}:${series}:${group}`;
    const found = groups.get(id);
    last = found ?? { series, group, members: [] };
    last.members.push(member);
    if (found === undefined) groups.set(id, last);
  }
  return [...groups.values()];
}
