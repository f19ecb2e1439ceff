/** Columns that answers to a team had, by endpoint: what this process has given it itself, and nothing of other teams. */
import { LRUCache } from 'lru-cache';

export interface SeenColumns {
  add(team: string, endpoint: string, columns: readonly string[]): void;
  /** In the order in which they were seen. */
  of(team: string, endpoint: string): readonly string[];
}

const MAX_REPORTS = 1000;
/** Rows that each bring names of their own would take room without end. */
const MAX_COLUMNS = 300;

export function createSeenColumns(): SeenColumns {
  const seen = new LRUCache<string, Set<string>>({ max: MAX_REPORTS });
  const keyOf = (team: string, endpoint: string) => `${team} ${endpoint}`;
  return {
    add(team, endpoint, columns) {
      const key = keyOf(team, endpoint);
      const known = seen.get(key) ?? new Set();
      for (const column of columns) if (known.size < MAX_COLUMNS) known.add(column);
      seen.set(key, known);
    },
    of: (team, endpoint) => [...(seen.get(keyOf(team, endpoint)) ?? [])],
  };
}
