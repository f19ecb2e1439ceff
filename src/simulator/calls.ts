import type { IncomingHttpHeaders } from 'node:http';

/** A call to the platform with its response status. */
export interface RecordedCall {
  /** Epoch milliseconds of the simulator's clock. */
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
  /** 0: no response, yet or because of a fault. */
  readonly status: number;
}

/** The newest calls that are always listed; older ones are dropped to save memory. */
const LISTED_CALLS = 20_000;

export type Calls = ReturnType<typeof createCalls>;

/** The log of platform calls. */
export function createCalls() {
  const list: (Omit<RecordedCall, 'status'> & { status: number })[] = [];
  let total = 0;
  return {
    /** Oldest first; always the same array. */
    list: list as readonly RecordedCall[],
    /** Calls since the start, also those no longer listed. */
    get total() {
      return total;
    },
    /** @returns a function that records the status */
    record(call: Omit<RecordedCall, 'status'>): (status: number) => void {
      // In batches: removing from the front of a long array is slow.
      if (list.length >= 2 * LISTED_CALLS) list.splice(0, LISTED_CALLS);
      const recorded = { ...call, status: 0 };
      list.push(recorded);
      total++;
      return (status) => {
        recorded.status = status;
      };
    },
    clear(): void {
      list.length = 0;
    },
  };
}
