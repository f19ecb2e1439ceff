/**
 * Spans for OpenTelemetry, as the rest of the gateway sees them. While a request is under way nothing is made of it: its
 * trace is written as always, and read when the request is over.
 */
import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { Trace } from './trace.js';

export interface TracingSettings {
  readonly endpoint?: string | undefined;
  readonly tracesEndpoint?: string | undefined;
  readonly serviceName: string;
  readonly resourceAttributes?: string | undefined;
  readonly sampler: string;
  readonly samplerArg: string;
  readonly disabled: boolean;
}

export interface TracingOptions {
  readonly settings: TracingSettings;
  /** Read for each export, so that they may change; null for none. */
  readonly headers: () => string | null;
  /** The host that platform calls go to. */
  readonly platformHost: string;
  readonly logger: Logger;
  /** Takes secrets out of what a caller sent. */
  readonly clean: (text: string) => string;
}

/** A request that is over. */
export interface TracedRequest {
  readonly id: string;
  readonly method: string;
  readonly originalUrl: string;
  readonly raw: IncomingMessage;
  readonly trace: Trace;
  readonly routeOptions?: { readonly url?: string | undefined } | undefined;
}

export interface RequestEnd {
  readonly plane: string;
  readonly status: number;
  readonly durationMs: number;
  /** False when the connection ended before the answer did. */
  readonly complete: boolean;
}

/** A call of the store that is over. */
export interface StoreCall {
  readonly name: string;
  /** By `uptimeMs()`. */
  readonly startedMs: number;
  readonly failed: boolean;
}

export interface RequestTracing {
  /** Calls of the store that `go` begins are this request's. */
  around(request: IncomingMessage, go: () => void): void;
  /** @returns the id under which its spans were recorded; null where they were not */
  done(request: TracedRequest, end: RequestEnd): string | null;
}

export interface Tracing extends RequestTracing {
  storeCall(call: StoreCall): void;
  /** Sends what is held back, as long as that takes a moment only. */
  stop(): Promise<void>;
}
