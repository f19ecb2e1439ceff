/**
 * The last requests of the data plane that were answered with a problem, in memory of each process, found by id. A process
 * that does not have it asks the others over the store's bus.
 */
import type { Logger } from 'pino';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { parseObject } from '../../lib/json.js';
import { createLastUsed } from '../../lib/last-used.js';
import { startTimer, stopTimer } from '../../lib/time.js';
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

export interface Search {
  readonly line: TailLine | null;
  /** Processes that have answered, this one included. */
  readonly searched: number;
  readonly processes: number;
}

export function createFailedRequests({ bus, clock, logger, replicas }: FailedRequestsOptions) {
  const self = randomId();
  const lines = createLastUsed<TailLine>(FAILED_REQUESTS_KEPT);

  const publish = (channel: string, message: object): void => {
    bus.publish(channel, JSON.stringify(message)).catch((error: unknown) => {
      logger.debug({ err: error }, 'failed to publish a search for a request');
    });
  };

  const stopListening = bus.subscribe(WANTED, (message) => {
    const { id, search, by } = parseObject(message) ?? {};
    if (typeof id === 'string' && by !== self) publish(FOUND, { search, line: lines.get(id) ?? null });
  });

  /** Asks the others until one has it, all have answered, or time is up. */
  function askOthers(id: string, processes: number): Promise<Search> {
    return new Promise((resolve) => {
      const search = randomId();
      let searched = 1;
      const end = (line: TailLine | null) => {
        stopTimer(timer);
        stopHearing();
        resolve({ line, searched, processes });
      };
      const timer = startTimer(() => end(null), WAIT_MS);
      const stopHearing = bus.subscribe(FOUND, (message) => {
        const { search: of, line } = parseObject(message) ?? {};
        if (of !== search) return;
        searched += 1;
        if (line) end(line as unknown as TailLine);
        else if (searched >= processes) end(null);
      });
      publish(WANTED, { id, search, by: self });
    });
  }

  return {
    note(line: Omit<TailLine, 'at'>): void {
      lines.set(line.requestId, { at: new Date(clock.now()).toISOString(), ...line });
    },
    async find(id: string): Promise<Search> {
      const [line, processes] = [lines.get(id) ?? null, Math.max(1, replicas.count)];
      return line !== null || processes === 1 ? { line, searched: 1, processes } : askOthers(id, processes);
    },
    close: stopListening,
  };
}
