/** An exporter whose failures are told in the log once in a while, and to nobody else. */
import { ExportResultCode } from '@opentelemetry/core';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { uptimeMs } from '../../lib/time.js';

/** Between two lines about a collector that does not take spans. */
const TELL_EVERY_MS = 60_000;

/** @param nowMs a clock that never jumps, milliseconds */
export function telling(
  exporter: SpanExporter,
  logger: Pick<Logger, 'warn' | 'info'>,
  nowMs: () => number = uptimeMs,
): SpanExporter {
  let lost = 0;
  let toldAtMs: number | null = null;

  function failed(spans: number, error: Error | undefined): void {
    lost += spans;
    const now = nowMs();
    if (toldAtMs !== null && now - toldAtMs < TELL_EVERY_MS) return;
    toldAtMs = now;
    logger.warn(
      { spans: lost, cause: error?.message },
      'the OpenTelemetry collector did not take spans; they are lost, requests go on',
    );
  }

  function taken(): void {
    if (lost > 0) logger.info({ spans: lost }, 'the OpenTelemetry collector takes spans again');
    lost = 0;
    toldAtMs = null;
  }

  return {
    export(spans, done) {
      exporter.export(spans, ({ code, error }) => {
        if (code === ExportResultCode.SUCCESS) taken();
        else failed(spans.length, error);
        done({ code: ExportResultCode.SUCCESS });
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}
