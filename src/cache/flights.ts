/**
 * One call for many askers: while a piece of work is under way in this process, others who want the same wait
 * for its result instead of repeating it.
 */
import { GatewayError } from '../errors.js';

export interface Flight<T> {
  readonly result: Promise<T>;
  /** False for whoever found the flight already under way. */
  readonly leads: boolean;
}

export interface Flights {
  /**
   * Joins the flight of this key, or starts it.
   * @throws GatewayError `overloaded` when too many wait already
   */
  join<T>(key: string, start: () => Promise<T>): Flight<T>;
  readonly waiting: number;
}

/** @param maxWaiting askers that may wait for flights at once, in this process */
export function createFlights(maxWaiting: number): Flights {
  const underWay = new Map<string, Promise<unknown>>();
  let waiting = 0;

  return {
    get waiting() {
      return waiting;
    },
    join<T>(key: string, start: () => Promise<T>): Flight<T> {
      const present = underWay.get(key) as Promise<T> | undefined;
      if (present === undefined) {
        const result = start().finally(() => underWay.delete(key));
        underWay.set(key, result);
        return { result, leads: true };
      }
      if (waiting >= maxWaiting) throw new GatewayError('overloaded', { retryAfterS: 1 });
      waiting += 1;
      return {
        leads: false,
        result: present.finally(() => {
          waiting -= 1;
        }),
      };
    },
  };
}
