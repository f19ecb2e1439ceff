/** The errors themselves. `detail` is shown; `internal` and `cause` are only logged, as separate members. */
import { CATALOGUE, type Entry } from './errors/catalogue.js';

export type ErrorCode = keyof typeof CATALOGUE;

/** The status of a code on a plane. `upstream_rejected` keeps the platform's status. */
export function statusOf(code: ErrorCode, admin: boolean): number {
  const { status, adminStatus = status }: Entry = CATALOGUE[code];
  return admin ? adminStatus : status;
}

export interface FieldFault {
  /** The parameter's name or JSON path; empty for the whole query or body. */
  readonly param: string;
  /** The rest of a sentence that begins with `param`. */
  readonly message: string;
  /** What to do, in one sentence. It becomes the problem's `help` if no other parameter is at fault. */
  readonly help?: string;
}

/** ISO days, both included. */
export interface KnownPeriod {
  readonly from: string;
  readonly to: string;
}

/** A limit of a team, as it was when it refused a request. */
export interface TeamLimit {
  readonly name: 'requestsPerMinute' | 'maxConcurrent' | 'upstreamCallsPerDay';
  readonly value: number;
}

export interface GatewayErrorOptions {
  /** Shown to the caller instead of the catalogue's meaning. Must hold nothing secret. */
  readonly detail?: string;
  /** Replaces the catalogue's remedy. Names things of the caller's team only; without a valid key, of the request only. */
  readonly help?: string;
  /** For the log only. */
  readonly internal?: string;
  readonly cause?: unknown;
  /** Replaces the catalogue's status: `upstream_rejected` keeps the platform's, the admin plane uses 422. */
  readonly status?: number;
  readonly errors?: readonly FieldFault[];
  /** Its platform call was not made for lack of a free slot: too many waited, or it waited until its deadline. */
  readonly noSlot?: true;
  /** Of the team, if that refused the request. */
  readonly limit?: TeamLimit;
  /** Whole seconds, sent as `retry-after`. */
  readonly retryAfterS?: number;
  /** Days of the report that are answered without the platform, newest first; none: absent. */
  readonly known?: readonly KnownPeriod[];
  /** The platform's own message, already scrubbed. */
  readonly upstream?: unknown;
  /** Account ids in the platform's answer. They decide which teams may see `upstream`; never shown themselves. */
  readonly upstreamAccounts?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** The only error that reaches a caller. Anything else thrown becomes `internal_error`. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly options: GatewayErrorOptions;

  constructor(code: ErrorCode, options: GatewayErrorOptions = {}) {
    super(options.internal ?? options.detail ?? CATALOGUE[code].meaning, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? CATALOGUE[code].status;
    this.options = options;
  }
}

/** Seconds to wait after a platform that did not answer in time, where nobody knows better. */
export const SILENT_S = 10;

export function invalidQuery(...errors: readonly FieldFault[]): GatewayError {
  return new GatewayError('invalid_query', { errors });
}

/** Wraps anything else thrown in `internal_error`, with the original as the cause, for the log. */
export function asGatewayError(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError ? thrown : new GatewayError('internal_error', { cause: thrown });
}
