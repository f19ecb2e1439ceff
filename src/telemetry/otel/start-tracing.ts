/** Setup of OpenTelemetry: provider, sampler, queue, exporter. Loaded by `open-tracing.ts` only. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import { ExportResultCode, parseKeyPairsIntoRecord } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { VERSION } from '../../lib/package-root.js';
import { sleep, uptimeMs } from '../../lib/time.js';
import { createOutage } from '../outage.js';
import type { Tracing, TracingOptions } from '../tracing.js';
import { createRecorder, type EndedStoreCall } from './record-request.js';

// Samplers by their names in the specification.

const PARENT_BASED = 'parentbased_';

export function samplerOf(name: string, share: number): Sampler {
  if (name.startsWith(PARENT_BASED))
    return new ParentBasedSampler({ root: samplerOf(name.slice(PARENT_BASED.length), share) });
  if (name === 'always_off') return new AlwaysOffSampler();
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(share) : new AlwaysOnSampler();
}

// An exporter that logs failures at intervals.

/** @param nowMs a clock that never jumps, milliseconds */
export function telling(
  exporter: SpanExporter,
  logger: Pick<Logger, 'warn' | 'info'>,
  nowMs: () => number = uptimeMs,
): SpanExporter {
  const outage = createOutage({
    logger,
    nowMs,
    counted: 'spans',
    quietMs: 0,
    lasts: 'failed to export spans to the OpenTelemetry collector; they are lost',
    over: 'the OpenTelemetry collector accepts spans again',
  });
  return {
    export(spans, done) {
      exporter.export(spans, ({ code, error }) => {
        if (code === ExportResultCode.SUCCESS) outage.worked();
        else outage.failed({ cause: error?.message }, spans.length);
        done({ code: ExportResultCode.SUCCESS });
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}

/** Queue of spans; further ones are dropped. A request has about ten. */
const QUEUE_SPANS = 8192;
const BATCH_SPANS = 512;
const EVERY_MS = 2000;
/** Timeout of a batch, including retries. */
const EXPORT_MS = 10_000;
/** Time limit at shutdown. */
const STOP_MS = 3000;
/** Maximum spans of a request. */
const MOST_STORE_CALLS = 100;
/** Health checks and metrics. */
const NOT_TRACED = /^\/(healthz|readyz|metrics)(?:\?|$)/;

export function startTracing(url: string, options: TracingOptions): Tracing {
  const { settings, headers, logger } = options;
  const exporter = new OTLPTraceExporter({
    url,
    headers: async () => parseKeyPairsIntoRecord(headers() ?? undefined),
    timeoutMillis: EXPORT_MS,
  });
  const provider = new TracerProvider({
    sampler: samplerOf(settings.sampler, Number(settings.samplerArg)),
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.version': VERSION,
        'process.pid': process.pid,
        ...parseKeyPairsIntoRecord(settings.resourceAttributes),
        'service.name': settings.serviceName,
      }),
    ),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: telling(exporter, logger),
        maxQueueSize: QUEUE_SPANS,
        maxExportBatchSize: BATCH_SPANS,
        scheduledDelayMillis: EVERY_MS,
        exportTimeoutMillis: EXPORT_MS + 1000,
      }),
    ],
  });
  const record = createRecorder(provider.getTracer('dsp-gateway', VERSION), options);
  const begun = new AsyncLocalStorage<EndedStoreCall[]>();
  const callsOf = new WeakMap<IncomingMessage, EndedStoreCall[]>();
  return {
    around(request, go) {
      if (NOT_TRACED.test(request.url ?? '')) return go();
      const calls: EndedStoreCall[] = [];
      callsOf.set(request, calls);
      begun.run(calls, go);
    },
    storeCall(call) {
      const calls = begun.getStore();
      if (calls !== undefined && calls.length < MOST_STORE_CALLS)
        calls.push(Object.assign({ endedMs: uptimeMs() }, call));
    },
    done(request, end) {
      const calls = callsOf.get(request.raw);
      return calls === undefined ? null : record(request, end, calls);
    },
    async stop() {
      const sent = provider.shutdown().catch(() => {});
      await Promise.race([sent, sleep(STOP_MS, { ref: false })]);
    },
  };
}
