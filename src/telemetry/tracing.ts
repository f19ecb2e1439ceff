/** The interface of tracing. Spans are created from the trace of a request when it is over. */
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
  /** Read for each export; null: none. */
  readonly headers: () => string | null;
  readonly platformHost: string;
  readonly logger: Logger;
  /** Redacts secrets. */
  readonly clean: (text: string) => string;
}

/** A finished request. */
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
  /** False if the connection closed before the response ended. */
  readonly complete: boolean;
}

export interface StoreCall {
  readonly name: string;
  /** By `uptimeMs()`. */
  readonly startedMs: number;
  readonly failed: boolean;
}

export interface RequestTracing {
  /** Attributes calls of the store started by `go` to this request. */
  around(request: IncomingMessage, go: () => void): void;
  /** @returns the trace id; null if not recorded */
  done(request: TracedRequest, end: RequestEnd): string | null;
}

export interface Tracing extends RequestTracing {
  storeCall(call: StoreCall): void;
  /** Flushes, within a time limit. */
  stop(): Promise<void>;
}
