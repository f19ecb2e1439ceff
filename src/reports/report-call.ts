/** A report request as it comes off the wire, and what goes back. */
import type { KeyHeaders } from '../auth/authenticate.js';
import type { Trace } from '../telemetry/trace.js';
import type { JsonObject } from './rows/json.js';

export interface ReportCall {
  /** Of the request, for the log. */
  readonly id: string;
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** Path and query, as received. */
  readonly target: string;
  /** Path below `/api/v1/report/`. */
  readonly endpoint: string;
  /** As received, without `?`. */
  readonly query: string;
  /**
   * The parsed body of a POST, null for others. Not a byte of it is taken before it is asked for: when the caller is
   * known, and may ask.
   * @throws GatewayError `unsupported_media_type`, `body_too_large`, `invalid_body`
   */
  readonly readBody: (() => Promise<JsonObject>) | null;
  readonly keys: KeyHeaders;
  readonly address: string;
  readonly accept: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly cacheControl: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly trace: Trace;
  /** Told what to call when the answer is through, or the caller gone; perhaps more than once. */
  readonly onResponseClosed: (leave: () => void) => void;
  /** Its request was charged to the team before: a tool of an agent is one request, whatever it asks for. */
  readonly isCharged?: boolean;
}

export interface ReportReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** In pieces, in order; null for a 304. */
  readonly body: readonly Buffer[] | null;
}

/** What is read of a plain call before it may be answered at once. */
export type HitCall = Pick<
  ReportCall,
  'method' | 'target' | 'keys' | 'accept' | 'acceptEncoding' | 'ifNoneMatch'
>;

/** An answer that was at hand, with what its log line and its counts need. */
export interface Hit {
  readonly reply: ReportReply;
  readonly team: string;
  readonly key: string;
  readonly endpoint: string;
  readonly tier: 'l1' | 'store';
  readonly rows: number;
  /** Platform calls that the same answer would have cost without a cache. */
  readonly plainCalls: number;
  /** To be called when the request is over, once or more. */
  readonly leave: () => void;
}

/** A hit as it is sent, whoever sends it. */
export interface HitAnswer {
  readonly status: number;
  /**
   * Headers of this answer alone, then those that it shares with others: names and values, each in turn, with
   * `content-length` where there is a body.
   */
  readonly head: readonly [own: readonly string[], shared: readonly string[]];
  /** Null where none is sent: for HEAD, and for a 304. */
  readonly body: Buffer | null;
  /** To be called once. @param complete whether all of it was sent */
  readonly done: (complete: boolean) => void;
}

/** In place of an answer: known and allowed, and not at hand in this process. The store may have it. */
export const ELSEWHERE = 'elsewhere';

/** The largest body that is answered before the router: what is written in one turn, without holding up others. */
export const HIT_BYTES = 262_144;

/** A larger body is sent by the piece, for its caller may read it as slowly as it likes; a smaller one the system takes. */
export const AT_ONCE_BYTES = 65_536;
