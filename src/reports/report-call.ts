/** A report request as received, and its reply. */
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
   * Reads and parses the body of a POST; null for other methods. Called after the caller was admitted: no byte is read before.
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
  /** Registers a callback for the end of the response or a disconnect; may fire more than once. */
  readonly onResponseClosed: (leave: () => void) => void;
  /** The request was already counted against the team's limits (an MCP tool call counts once). */
  readonly isCharged?: boolean;
}

export interface ReportReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** In pieces, in order; null for a 304. */
  readonly body: readonly Buffer[] | null;
  /** Kept by the sender, for the next request. */
  head?: ReplyHead;
}

/** The headers that all answers with a reply share. */
export interface ReplyHead {
  /** Names and values alternate. */
  readonly list: readonly string[];
  /** As sent, with the empty line after them. */
  readonly text: Buffer;
}

/**
 * @returns no promise for a hit in memory
 * @throws GatewayError for everything but an answer, synchronously or as a rejection
 */
export type ReportHandler = (call: ReportCall) => ReportReply | Promise<ReportReply>;

/** Largest body that is answered before the router; a larger one would block the event loop. */
export const HIT_BYTES = 262_144;

/** Larger bodies are sent in pieces, because slow readers apply backpressure; smaller ones fit the socket buffer. */
export const AT_ONCE_BYTES = 65_536;
