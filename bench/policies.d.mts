import type { TraceRequest } from './trace.mjs';

export function fewestCalls(trace: readonly TraceRequest[]): number;
