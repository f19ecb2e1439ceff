import type { Present } from './port.js';

/** The order of a list. */
export function byId(one: Present, other: Present): number {
  if (one.id === other.id) return 0;
  return one.id < other.id ? -1 : 1;
}
