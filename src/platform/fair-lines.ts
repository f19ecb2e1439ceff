/**
 * Who is served next, of those who wait: start-time fair queueing (Goyal, Vin, Cheng 1996), where each call costs 1 and all
 * teams weigh the same. A team that has asked for little is served before one that has asked for much, whatever waits there.
 */
import { GatewayError } from '../errors.js';

export interface Waiter {
  readonly start: () => void;
  readonly refuse: (error: GatewayError) => void;
}

/** A team that waits, or that has lately had more slots than others. */
export interface Line {
  readonly waiters: Set<Waiter>;
  /** Virtual time at which its next call starts. */
  tag: number;
  /** When it began to wait, for those whose tags are equal. */
  since: number;
}

export type FairLines = ReturnType<typeof createFairLines>;

export function createFairLines() {
  const lines = new Map<string, Line>();
  /** Virtual time: the tag of the call that started last. */
  let time = 0;
  let arrivals = 0;
  let queued = 0;

  /** Nothing happens when it does not wait any more. */
  function remove(line: Line, waiter: Waiter): void {
    if (line.waiters.delete(waiter)) queued -= 1;
  }

  return {
    /** Waiters, all teams together. */
    get queued(): number {
      return queued;
    },
    of(team: string): Line {
      const line = lines.get(team) ?? { waiters: new Set(), tag: time, since: 0 };
      lines.set(team, line);
      return line;
    },
    /** A call of the team starts: the next one of its line is due later. */
    started(line: Line): void {
      time = Math.max(time, line.tag);
      line.tag = time + 1;
      line.since = ++arrivals;
    },
    add(line: Line, waiter: Waiter): void {
      if (line.waiters.size === 0) {
        line.tag = Math.max(line.tag, time);
        line.since = ++arrivals;
      }
      line.waiters.add(waiter);
      queued += 1;
    },
    remove,
    /** Takes out who is next; to be called only while somebody waits. */
    takeNext(): { readonly team: string; readonly waiter: Waiter } {
      const [team, line] = nextOf(lines);
      const waiter = line.waiters.values().next().value as Waiter;
      remove(line, waiter);
      return { team, waiter };
    },
    /** Whoever fills the queue makes room for those who do not. @throws GatewayError when that is `line` itself */
    makeRoom(line: Line): void {
      const { longest, last } = lastToCome(lines, line);
      remove(longest, last);
      last.refuse(overloaded());
    },
    /** A team that has had no more than its part is as good as new. */
    forgetRested(except: string): void {
      for (const [team, { waiters, tag }] of lines)
        if (team !== except && waiters.size === 0 && tag <= time) lines.delete(team);
    },
  };
}

function nextOf(lines: ReadonlyMap<string, Line>): [string, Line] {
  const waiting = [...lines].filter(([, { waiters }]) => waiters.size > 0);
  return waiting.reduce((best, one) => (isBefore(one[1], best[1]) ? one : best));
}

function isBefore(one: Line, other: Line): boolean {
  return one.tag < other.tag || (one.tag === other.tag && one.since < other.since);
}

/** @returns the waiter who came last in the longest line. @throws GatewayError when `line` is as long */
function lastToCome(lines: ReadonlyMap<string, Line>, line: Line): { longest: Line; last: Waiter } {
  const longest = [...lines.values()].reduce((most, one) =>
    one.waiters.size > most.waiters.size ? one : most,
  );
  if (longest.waiters.size <= line.waiters.size + 1) throw overloaded();
  return { longest, last: [...longest.waiters].at(-1) as Waiter };
}

function overloaded(): GatewayError {
  return new GatewayError('overloaded', { retryAfterS: 1 });
}
