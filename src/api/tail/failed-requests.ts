/**
 * The last requests of the data plane that were answered with a problem, in memory of each process, found by id or listed. A
 * process asks the others over the store's bus.
 */
import type { Logger } from 'pino';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { parseObject } from '../../lib/json.js';
import { createLastUsed } from '../../lib/last-used.js';
import { startTimer, stopTimer } from '../../lib/time.js';
import { type FailedPart, partOfFailure } from '../../outcome.js';
import type { Bus } from '../../store/port.js';
import type { TailLine } from './tail.js';

/** Of each process. */
export const FAILED_REQUESTS_KEPT = 2000;

const WANTED = 'failed-request-wanted';
const FOUND = 'failed-request-found';
/** How long other processes are waited for. */
const WAIT_MS = 1000;

interface FailedRequestsOptions {
  readonly bus: Bus;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly replicas: { readonly count: number };
}

/** How many processes have answered, this one included, of how many. */
interface Searched {
  readonly searched: number;
  readonly processes: number;
}

export interface Filter {
  /** Null: all, here and below. */
  readonly team: string | null;
  /** `failed`: reports that could not be answered, not what was refused. */
  readonly outcome: string | null;
  /** Failed reports of this part only; absent in searches of an earlier release. */
  readonly part?: FailedPart | null;
  /** Of the problem; absent as `part`. */
  readonly code?: string | null;
  /** Time of the answer, epoch milliseconds, both included. */
  readonly fromMs: number | null;
  readonly untilMs: number | null;
  /** The oldest ones, oldest first; else the newest, newest first. */
  readonly oldest: boolean;
  readonly limit: number;
}

type Wanted = { readonly id: string } | { readonly filter: Filter };

interface Found {
  readonly lines: readonly TailLine[];
  /** How many there are, with those beyond the limit. */
  readonly all: number;
}

const NONE: Found = { lines: [], all: 0 };

/** So many first letters of an id are enough, if only one request begins with them. */
export const PREFIX_LENGTH = 6;

export function createFailedRequests({ bus, clock, logger, replicas }: FailedRequestsOptions) {
  const self = randomId();
  const kept = createLastUsed<TailLine>(FAILED_REQUESTS_KEPT);

  const publish = (channel: string, message: object): void => {
    bus.publish(channel, JSON.stringify(message)).catch((error: unknown) => {
      logger.debug({ err: error }, 'failed to publish a search for requests');
    });
  };

  function foundHere(wanted: Wanted): Found {
    if ('filter' in wanted) {
      const newest = [...kept.values()];
      return select(wanted.filter.oldest ? newest.reverse() : newest, wanted.filter);
    }
    const line = kept.peek(wanted.id);
    if (line !== undefined) return { lines: [line], all: 1 };
    if (wanted.id.length < PREFIX_LENGTH) return NONE;
    const begun = [...kept.values()].filter(({ requestId }) => requestId.startsWith(wanted.id));
    return { lines: begun.slice(0, 2), all: begun.length };
  }

  const stopListening = bus.subscribe(WANTED, (message) => {
    const { wanted, search, by } = parseObject(message) ?? {};
    if (typeof wanted !== 'object' || wanted === null || by === self) return;
    publish(FOUND, { search, ...foundHere(wanted as unknown as Wanted) });
  });

  /** Asks the others until one has enough, all have answered, or time is up. */
  function askOthers(wanted: Wanted, processes: number, isEnough: (found: Found) => boolean) {
    return new Promise<Searched & { readonly found: readonly Found[] }>((resolve) => {
      const search = randomId();
      const found: Found[] = [];
      const end = () => {
        stopTimer(timer);
        stopHearing();
        resolve({ found, searched: found.length + 1, processes });
      };
      const timer = startTimer(end, WAIT_MS);
      const stopHearing = bus.subscribe(FOUND, (message) => {
        const { search: of, lines, all } = parseObject(message) ?? {};
        if (of !== search || !Array.isArray(lines)) return;
        const one = { lines: lines as unknown as TailLine[], all: Number(all) || 0 };
        found.push(one);
        if (isEnough(one) || found.length + 1 >= processes) end();
      });
      publish(WANTED, { wanted, search, by: self });
    });
  }

  /** Here, and if that is not enough, at all others. */
  async function search(wanted: Wanted, isEnough: (found: Found) => boolean) {
    const [here, processes] = [foundHere(wanted), Math.max(1, replicas.count)];
    if (processes === 1 || isEnough(here)) return { found: [here], searched: 1, processes };
    const others = await askOthers(wanted, processes, isEnough);
    return { ...others, found: [here, ...others.found] };
  }

  async function list(filter: Filter): Promise<Searched & Found> {
    const { found, ...rest } = await search({ filter }, () => false);
    const lines = found.flatMap((one) => one.lines);
    const all = found.reduce((sum, one) => sum + countOf(one, filter), 0);
    return { lines: select(lines, filter).lines, all, ...rest };
  }

  return {
    note(line: Omit<TailLine, 'at'>): void {
      kept.set(line.requestId, { at: new Date(clock.now()).toISOString(), ...line });
    },
    /** By an id, or its first letters. @returns `matches`: how many begin so; the line is that of the only one */
    async find(id: string): Promise<Searched & { readonly line: TailLine | null; readonly matches: number }> {
      const isIt = ({ requestId }: TailLine) => requestId === id;
      const { found, ...rest } = await search({ id }, ({ lines }) => lines.some(isIt));
      const lines = found.flatMap((one) => one.lines);
      const whole = lines.find(isIt);
      const matches = whole === undefined ? found.reduce((sum, { all }) => sum + all, 0) : 1;
      return { line: whole ?? (matches === 1 ? (lines[0] ?? null) : null), matches, ...rest };
    },
    list,
    /** Ids of the first reports that failed by this part in this time, at most so many. */
    async firstFailed(
      part: FailedPart,
      fromMs: number,
      untilMs: number,
      limit: number,
    ): Promise<readonly string[]> {
      const { lines } = await list({
        ...{ team: null, outcome: 'failed', part },
        ...{ fromMs, untilMs, oldest: true, limit },
      });
      return lines.map(({ requestId }) => requestId);
    },
    close: stopListening,
  };
}

/** How many a process has. One of an earlier release may not know the whole filter, and counts others too. */
function countOf({ lines, all }: Found, filter: Filter): number {
  const wanted = select(lines, filter).all;
  return wanted < lines.length ? wanted : all;
}

/** @param lines those of the same millisecond in the order of the filter */
function select(lines: readonly TailLine[], filter: Filter): Found {
  const { team, outcome, part = null, code = null, fromMs, untilMs, oldest, limit } = filter;
  const isWanted = (line: TailLine) => {
    const atMs = Date.parse(line.at);
    if (outcome !== null && line.outcome !== outcome) return false;
    if (part !== null && (line.outcome !== 'failed' || partOfFailure(line.code) !== part)) return false;
    if (code !== null && line.code !== code) return false;
    if (team !== null && line.team !== team) return false;
    return (fromMs === null || atMs >= fromMs) && (untilMs === null || atMs <= untilMs);
  };
  const sign = oldest ? 1 : -1;
  const wanted = lines.filter(isWanted).sort((one, other) => sign * one.at.localeCompare(other.at));
  return { lines: wanted.slice(0, limit), all: wanted.length };
}
