/** A report request as it comes off the wire, and what goes back. */
import type { KeyHeaders } from '../teams/auth/authenticate.js';
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

/**
 * @returns the reply itself, and no promise, for a hit in memory
 * @throws GatewayError for everything that is not an answer, from the promise as well
 */
export type ReportHandler = (call: ReportCall) => ReportReply | Promise<ReportReply>;

/** The largest body that is answered before the router: what is written in one turn, without holding up others. */
export const HIT_BYTES = 262_144;

/** A larger body is sent by the piece, for its caller may read it as slowly as it likes; a smaller one the system takes. */
export const AT_ONCE_BYTES = 65_536;
