import { calendarDay, checkMembers, oneOf, type Rule, text, whole } from './invalid-input.js';

/** What each kind of fault does to a call. */
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

export type FaultKind = keyof typeof FAULT_KINDS;

/** A planned misbehaviour; the first one in the queue that matches a call is played and used up. */
export interface Fault {
  readonly kind: FaultKind;
  readonly status?: number;
  readonly message?: string;
  readonly retryAfterS?: number;
  readonly location?: string;
  readonly bytes?: number;
  /** Pause before the fault; for `slow` and `hang-headers` the pause between their pieces. Real milliseconds. */
  readonly latencyMs?: number;
  /** Only calls whose path as sent contains this. */
  readonly path?: string;
  /** Only calls with this method as sent. */
  readonly method?: string;
  /** Only calls whose period overlaps these days, `YYYY-MM-DD`; open at the end that is absent. */
  readonly from?: string;
  readonly to?: string;
  /** How many calls it is played to (1); 0 = all, until cleared. */
  readonly times?: number;
}

/** What a fault is matched against. */
export interface FaultTarget {
  readonly method: string;
  readonly path: string;
  /** The call's own dateFrom and dateTo, if it has them. */
  readonly from: unknown;
  readonly to: unknown;
}

export interface Faults {
  /** @throws InvalidInput when it is not a fault */
  add(fault: unknown): void;
  /** Uses up one time of the first matching fault. */
  take(target: FaultTarget): Fault | undefined;
  clear(): void;
  /** Still queued, with the times that are left. */
  list(): Fault[];
}

/** Members of a fault and what they may be. */
export const FAULT_RULES: Readonly<Record<keyof Fault, Rule>> = {
  kind: oneOf(Object.keys(FAULT_KINDS)),
  status: whole(200, 599),
  message: text(/^[\s\S]{0,10000}$/, 'text of at most 10000 characters'),
  retryAfterS: whole(0, 1_000_000),
  location: text(/^[\x21-\x7e]{1,2000}$/, 'a printable location without spaces'),
  bytes: whole(0, 10_000_000_000),
  latencyMs: whole(0, 86_400_000),
  path: text(/./, 'part of a path'),
  method: text(/^[A-Z]+$/, 'a method in capitals'),
  from: calendarDay,
  to: calendarDay,
  times: whole(0, 1_000_000),
};

export function createFaults(): Faults {
  let queue: { readonly fault: Fault; left: number }[] = [];
  return {
    add(fault) {
      checkMembers(fault, FAULT_RULES, ['kind']);
      const { times = 1, ...rest } = fault as unknown as Fault;
      queue.push({ fault: rest, left: times === 0 ? Number.POSITIVE_INFINITY : times });
    },
    take(target) {
      const found = queue.find(({ fault }) => matches(fault, target));
      if (!found) return undefined;
      found.left--;
      if (found.left === 0) queue = queue.filter((entry) => entry !== found);
      return found.fault;
    },
    clear() {
      queue = [];
    },
    list: () => queue.map(({ fault, left }) => ({ ...fault, times: Number.isFinite(left) ? left : 0 })),
  };
}

function matches(fault: Fault, { method, path, from, to }: FaultTarget): boolean {
  if (fault.path !== undefined && !path.includes(fault.path)) return false;
  if (fault.method !== undefined && fault.method !== method) return false;
  if (fault.from === undefined && fault.to === undefined) return true;
  if (typeof from !== 'string' || typeof to !== 'string') return false;
  return (fault.to === undefined || from <= fault.to) && (fault.from === undefined || to >= fault.from);
}
