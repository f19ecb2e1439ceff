import { calendarDay, checkMembers, oneOf, type Rule, text, whole } from './invalid-input.js';

/** The effect of each kind of fault on a call. */
export const FAULT_KINDS = {
  status: '`status` (500) with {"message"}, and retry-after if `retryAfterS` is given',
  html: 'an HTML page with `status` (200)',
  redirect: '`status` (302) to `location` (a link-local address)',
  garbage: '200 and application/json, with bytes that are neither JSON nor UTF-8',
  oversize: '200 with valid JSON of `bytes` (104857600)',
  truncate: '`bytes` (half) of the response with its full content-length, then closes',
  slow: 'the response, `bytes` (1) at a time, with `latencyMs` (1000) before each',
  hang: 'no response on an open connection',
  'hang-headers': 'endless header lines, one per `latencyMs` (1000)',
  reset: 'resets the connection (TCP RST)',
} as const;

/** A planned misbehaviour; the first in the queue that matches a call is played and used up. */
export type Fault = Readonly<{ kind: keyof typeof FAULT_KINDS } & Partial<Numbers & Texts>>;
type Numbers = Record<'status' | 'retryAfterS' | 'bytes' | 'latencyMs' | 'times', number>;
type Texts = Record<'message' | 'location' | 'path' | 'method' | 'from' | 'to', string>;

/** A call; `from` and `to` are its `dateFrom` and `dateTo`. */
type FaultTarget = Readonly<{ method: string; path: string; from: unknown; to: unknown }>;

/** Allowed values of a fault's members. */
export const FAULT_RULES: Readonly<Record<keyof Fault, Rule>> = {
  kind: oneOf(Object.keys(FAULT_KINDS)),
  status: whole(200, 599),
  message: text(/^[\s\S]{0,10000}$/, 'text of at most 10000 characters'),
  retryAfterS: whole(0, 1_000_000),
  location: text(/^[\x21-\x7e]{1,2000}$/, 'a printable location without spaces'),
  bytes: whole(0, 10_000_000_000),
  /** Pause before the fault; for `slow` and `hang-headers` between pieces. Real milliseconds. */
  latencyMs: whole(0, 86_400_000),
  /** Only calls whose path as sent contains this. */
  path: text(/./, 'part of a path'),
  /** Only calls with this method as sent. */
  method: text(/^[A-Z]+$/, 'a method in capitals'),
  /** Only calls whose period overlaps these days; an absent end is open. */
  from: calendarDay,
  to: calendarDay,
  /** Number of calls (1); 0: all, until cleared. */
  times: whole(0, 1_000_000),
};

export type Faults = ReturnType<typeof createFaults>;

export function createFaults() {
  let queue: { readonly fault: Fault; left: number }[] = [];
  return {
    /** @throws InvalidInput */
    add(fault: Fault): void {
      checkMembers(fault, FAULT_RULES, ['kind']);
      const { times = 1, ...rest }: Fault = fault;
      queue.push({ fault: rest, left: times === 0 ? Number.POSITIVE_INFINITY : times });
    },
    /** Uses the first matching fault once. */
    take(target: FaultTarget): Fault | undefined {
      const found = queue.find(({ fault }) => matches(fault, target));
      if (!found) return undefined;
      found.left--;
      if (found.left === 0) queue = queue.filter((entry) => entry !== found);
      return found.fault;
    },
    clear(): void {
      queue = [];
    },
    list: (): Fault[] =>
      queue.map(({ fault, left }) => ({ ...fault, times: Number.isFinite(left) ? left : 0 })),
  };
}

function matches(fault: Fault, { method, path, from, to }: FaultTarget): boolean {
  if (fault.path !== undefined && !path.includes(fault.path)) return false;
  if (fault.method !== undefined && fault.method !== method) return false;
  if (fault.from === undefined && fault.to === undefined) return true;
  if (typeof from !== 'string' || typeof to !== 'string') return false;
  return (fault.to === undefined || from <= fault.to) && (fault.from === undefined || to >= fault.from);
}
