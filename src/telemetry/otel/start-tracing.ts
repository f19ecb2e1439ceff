/** The set-up of OpenTelemetry: provider, sampler, queue, exporter. Loaded by `open-tracing.ts` alone. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import { parseKeyPairsIntoRecord } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { VERSION } from '../../lib/package-root.js';
import { sleep, uptimeMs } from '../../lib/time.js';
import type { Tracing, TracingOptions } from '../tracing.js';
import { createRecorder, type EndedStoreCall } from './record-request.js';
import { samplerOf } from './sampler.js';
import { telling } from './telling-exporter.js';

/** Spans that wait for the collector; further ones are dropped. A request makes about ten. */
const QUEUE_SPANS = 8192;
const BATCH_SPANS = 512;
const EVERY_MS = 2000;
/** How long the collector has for a batch, tries again included. */
const EXPORT_MS = 10_000;
/** How long the end of the process may wait for it. */
const STOP_MS = 3000;
/** A request of many calls makes many; the first so many are kept. */
const MOST_STORE_CALLS = 100;
/** Asked all the time, by machines. */
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
