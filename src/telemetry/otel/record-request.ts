/**
 * Spans of a finished request:
 *
 *   request (server) → a span a stage → platform calls and calls of Redis (client), below the stage they fell into
 *
 * A stage starts at the end of the previous one; a fetch starts with its call.
 */
import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace as traceApi,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { uptimeMs, wallMs } from '../../lib/time.js';
import type { EndedCall, Trace } from '../trace.js';
import type { RequestEnd, StoreCall, TracedRequest, TracingOptions } from '../tracing.js';

export interface EndedStoreCall extends StoreCall {
  readonly endedMs: number;
}

/** An interval, by `uptimeMs()`. */
interface Interval {
  readonly startMs: number;
  readonly endMs: number;
}

interface Drawn extends Interval {
  readonly within: Context;
}

/** Methods of the specification; others are recorded as `_OTHER`. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'];
const LONGEST_PATH = 256;

export function createRecorder(tracer: Tracer, { clean, platformHost }: TracingOptions) {
  const propagator = new W3CTraceContextPropagator();
  /** @returns the trace id; null if not sampled */
  return (request: TracedRequest, end: RequestEnd, storeCalls: readonly EndedStoreCall[]) => {
    const endMs = uptimeMs();
    const whole = { startMs: endMs - end.durationMs, endMs };
    const draw = createDraw(tracer, whole);
    const caller = propagator.extract(ROOT_CONTEXT, request.raw.headers, defaultTextMapGetter);
    const method = METHODS.includes(request.method) ? request.method : '_OTHER';
    const route = request.routeOptions?.url;
    const name = route === undefined ? method : `${method} ${route}`;
    const attributes = {
      'http.request.method': method,
      ...(route === undefined ? {} : { 'http.route': route }),
      'url.path': pathOf(request, clean),
      ...attributesOf(request, end),
    };
    const root = draw(caller, name, whole, SpanKind.SERVER, attributes, end.status >= 500);
    const { traceFlags, traceId } = root.spanContext();
    if ((traceFlags & TraceFlags.SAMPLED) === 0) return null;
    const within = traceApi.setSpan(caller, root);
    drawInside(draw, request.trace, storeCalls, { ...whole, within }, platformHost);
    return traceId;
  };
}

/** Without query and secrets. */
function pathOf({ trace, originalUrl }: TracedRequest, clean: TracingOptions['clean']): string {
  const path = (trace.subject ?? (originalUrl.split('?', 1)[0] as string)).slice(0, LONGEST_PATH);
  // `clean` escapes for JSON.
  return JSON.parse(`"${clean(path)}"`) as string;
}

function attributesOf({ id, trace }: TracedRequest, { plane, status, complete }: RequestEnd): Attributes {
  return {
    'http.response.status_code': status,
    ...(trace.code === null ? {} : { 'error.type': trace.code }),
    'dsp_gateway.plane': plane,
    'dsp_gateway.request_id': id,
    ...(trace.team === null ? {} : { 'dsp_gateway.team': trace.team }),
    ...(trace.key === null ? {} : { 'dsp_gateway.key': trace.key }),
    ...(trace.outcome === null ? {} : { 'dsp_gateway.outcome': trace.outcome }),
    'dsp_gateway.platform_calls': trace.platformCalls,
    'dsp_gateway.rows': trace.rows,
    ...(complete ? {} : { 'dsp_gateway.complete': false }),
  };
}

type Draw = ReturnType<typeof createDraw>;

/** Records spans with past times. */
function createDraw(tracer: Tracer, whole: Interval) {
  const toEpochMs = wallMs() - uptimeMs();
  const inside = (ms: number) => Math.min(Math.max(ms, whole.startMs), whole.endMs) + toEpochMs;
  return (
    parent: Context,
    name: string,
    { startMs, endMs }: Interval,
    kind: SpanKind,
    attributes: Attributes,
    failed: boolean,
  ): Span => {
    const span = tracer.startSpan(name, { kind, attributes, startTime: inside(startMs) }, parent);
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(inside(endMs));
    return span;
  };
}

function drawInside(
  draw: Draw,
  trace: Trace,
  storeCalls: readonly EndedStoreCall[],
  root: Drawn,
  platformHost: string,
): void {
  const calls = trace.calls.map((ended) => ({ ended, interval: intervalOf(trace, ended) }));
  const intervals = calls.map(({ interval }) => interval);
  const stages = stagesOf(trace, intervals).map(({ name, ...interval }) => {
    const span = draw(root.within, name, interval, SpanKind.INTERNAL, {}, false);
    return { ...interval, within: traceApi.setSpan(root.within, span), name };
  });
  const fetches = stages.filter(({ name }) => name === 'fetch');
  for (const { ended, interval } of calls)
    drawCall(draw, smallestAround(interval, fetches, root), interval, ended, platformHost);
  for (const call of storeCalls) {
    const interval = { startMs: call.startedMs, endMs: call.endedMs };
    const attributes = { 'db.system.name': 'redis', 'db.operation.name': call.name };
    const within = smallestAround(interval, stages, root);
    draw(within, call.name, interval, SpanKind.CLIENT, attributes, call.failed);
  }
}

function intervalOf({ startedMs }: Trace, { call, endedMs }: EndedCall): Interval {
  const endMs = startedMs + endedMs;
  return { startMs: endMs - call.durationMs, endMs };
}

/** @param calls in order of their end, like their fetches */
function stagesOf({ stages, startedMs }: Trace, calls: readonly Interval[]) {
  let beforeMs = startedMs;
  return stages.map(({ stage: name, endedMs }) => {
    const endMs = startedMs + endedMs;
    const call = name === 'fetch' ? calls.findLast((one) => one.endMs <= endMs) : undefined;
    const startMs = call?.startMs ?? beforeMs;
    beforeMs = endMs;
    return { name, startMs, endMs };
  });
}

/** @returns the context of the shortest enclosing interval, else of the request */
function smallestAround({ startMs, endMs }: Interval, among: readonly Drawn[], root: Drawn): Context {
  let best = root;
  for (const one of among) {
    const holds = one.startMs <= startMs && endMs <= one.endMs;
    if (holds && one.endMs - one.startMs <= best.endMs - best.startMs) best = one;
  }
  return best.within;
}

/** Only the host of the address is recorded. */
function drawCall(
  draw: Draw,
  parent: Context,
  interval: Interval,
  { call }: EndedCall,
  platformHost: string,
): void {
  const { method, status, outcome, attempt } = call;
  const isGood = outcome === 'answer' || outcome === 'rejected';
  const attributes = {
    'http.request.method': method,
    'server.address': platformHost,
    ...(status === null ? {} : { 'http.response.status_code': status }),
    ...(attempt > 1 ? { 'http.request.resend_count': attempt - 1 } : {}),
    ...(isGood ? {} : { 'error.type': outcome }),
    'dsp_gateway.attempt': attempt,
    'dsp_gateway.call_outcome': outcome,
  };
  draw(parent, method, interval, SpanKind.CLIENT, attributes, outcome !== 'answer');
}
