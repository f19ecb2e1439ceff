import type { IncomingHttpHeaders } from 'node:http';

/** A call to the platform, as it arrived and as it was answered. */
export interface RecordedCall {
  /** Milliseconds since the Unix epoch, in the simulator's time. */
  readonly at: number;
  /** As sent, before any method override. */
  readonly method: string;
  /** As sent, without the query. */
  readonly path: string;
  /** The request target, byte for byte. */
  readonly url: string;
  /** The query as the platform reads it. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
  /** UTF-8 text. */
  readonly body: string;
  /** Status of the answer; 0 while there is none, and for ever when a fault kept it back. */
  readonly status: number;
}

/** The log of platform calls. */
export interface Calls {
  /** Oldest first; the same array for the simulator's whole life. */
  readonly list: readonly RecordedCall[];
  /** How many calls there were since the start, also those no longer listed. */
  readonly total: number;
  /** @returns how to note the answer's status */
  record(call: Omit<RecordedCall, 'status'>): (status: number) => void;
  clear(): void;
}

/** The newest calls that are always listed; older ones go, so that a benchmark does not fill the memory. */
const LISTED_CALLS = 20_000;

export function createCalls(): Calls {
  const list: (Omit<RecordedCall, 'status'> & { status: number })[] = [];
  let total = 0;
  return {
    list,
    get total() {
      return total;
    },
    record(call) {
      // Dropped in batches: taking one from the front of a long array moves all the others.
      if (list.length >= 2 * LISTED_CALLS) list.splice(0, LISTED_CALLS);
      const recorded = { ...call, status: 0 };
      list.push(recorded);
      total++;
      return (status) => {
        recorded.status = status;
      };
    },
    clear() {
      list.length = 0;
    },
  };
}
