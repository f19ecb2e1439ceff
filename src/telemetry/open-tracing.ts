/** Loads what makes spans, when the address of a collector is set, and not before. */
import type { Tracing, TracingOptions, TracingSettings } from './tracing.js';

/** @returns null where tracing is off */
export async function openTracing(options: TracingOptions): Promise<Tracing | null> {
  const url = collectorUrl(options.settings);
  if (url === null) return null;
  const { startTracing } = await import('./otel/start-tracing.js');
  return startTracing(url, options);
}

/** As the specification of the exporter has it: the one for spans stands as it is, the other is a base. */
export function collectorUrl({ endpoint, tracesEndpoint, disabled }: TracingSettings): string | null {
  if (disabled) return null;
  if (tracesEndpoint !== undefined) return new URL(tracesEndpoint).href;
  if (endpoint === undefined) return null;
  return new URL(`${endpoint.replace(/\/$/, '')}/v1/traces`).href;
}
