/** Loads OpenTelemetry only if a collector is configured. */
import type { Tracing, TracingOptions, TracingSettings } from './tracing.js';

/** @returns null if tracing is off */
export async function openTracing(options: TracingOptions): Promise<Tracing | null> {
  const url = collectorUrl(options.settings);
  if (url === null) return null;
  const { startTracing } = await import('./otel/start-tracing.js');
  return startTracing(url, options);
}

/** By the exporter specification: the traces endpoint is used as is, the other is a base. */
export function collectorUrl({ endpoint, tracesEndpoint, disabled }: TracingSettings): string | null {
  if (disabled) return null;
  if (tracesEndpoint !== undefined) return new URL(tracesEndpoint).href;
  if (endpoint === undefined) return null;
  return new URL(`${endpoint.replace(/\/$/, '')}/v1/traces`).href;
}
