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
  for (const member of members) {
    const { series, group } = member;
    const id = `${series.length}:${series}:${group}`;
    const found = groups.get(id);
    if (found === undefined) groups.set(id, { series, group, members: [member] });
    else found.members.push(member);
  }
  return [...groups.values()];
}
