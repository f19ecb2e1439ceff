import { VERSION_LEAD_MAX_MS } from './port.js';

/** Versions fit into six bytes. */
const LIMIT = 2 ** 48;

/**
 * The version of a cache entry in whole milliseconds, rounded down.
 * @throws RangeError when it is not from 0 to 2^48 - 1
 */
export function wholeVersion(version: number): number {
  if (!(version >= 0 && version < LIMIT)) throw new RangeError(`not a version of an entry: ${version}`);
  return Math.floor(version);
}

/** Whether content of this version takes the place of content of the version `present`. */
export function replaces(version: number, present: number): boolean {
  return present <= version || present > version + VERSION_LEAD_MAX_MS;
}
