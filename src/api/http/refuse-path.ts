/** Answers a request target that the path gate refuses. No router has seen it, and none will. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { uptimeMs } from '../../lib/time.js';
import { Trace } from '../../telemetry/trace.js';
import { ambiguityOf } from './ambiguous.js';
import { corsOf, PREFLIGHT_VARY } from './cors.js';
import { brokenRule, type GateFault, type GateRules } from './path-gate.js';
import { noteProblem, problemAnswer } from './problem-reply.js';
import { type Accounted, GONE } from './request-log.js';

export interface PathRefusal {
  readonly corsOrigins: readonly string[];
  readonly gate: GateRules;
  /** Told when the answer is through, or the caller gone, for the log and the metrics. */
  readonly onDone: (request: Accounted, status: number, durationMs: number, complete: boolean) => void;
}

/** Body, headers, log line and metrics are those of any problem. */
export function refusePath(
  fault: GateFault,
  raw: IncomingMessage,
  response: ServerResponse,
  { corsOrigins, gate, onDone }: PathRefusal,
): void {
  const startedMs = uptimeMs();
  const id = randomId();
  const request: Accounted = {
    id,
    raw,
    method: raw.method ?? '',
    originalUrl: raw.url ?? '',
    trace: new Trace(),
  };
  response.once('close', () => {
    const status = response.headersSent ? response.statusCode : GONE;
    onDone(request, status, uptimeMs() - startedMs, response.writableFinished);
  });
  const ambiguity = ambiguityOf(raw);
  const { preflight, headers: allowed } = corsOf(raw, corsOrigins);
  const own = { 'x-request-id': id, ...(ambiguity === null ? allowed : {}) };
  // The page is let on to its request, so that it can read why that is refused.
  if (preflight && ambiguity === null) {
    response.writeHead(204, { ...own, vary: PREFLIGHT_VARY }).end();
    return;
  }
  const error = ambiguity ?? gateError(fault, raw.url ?? '', gate);
  noteProblem(request.trace, error);
  const { status, headers, body } = problemAnswer(error, id, raw);
  const vary = corsOrigins.length === 0 ? headers.vary : `${headers.vary}, origin`;
  response.writeHead(status, { ...own, ...headers, vary, 'content-length': body.length }).end(body);
}

function gateError(fault: GateFault, target: string, { wider }: GateRules): GatewayError {
  if (fault === 'uri_too_long') return new GatewayError(fault);
  return new GatewayError(fault, {
    detail: `The path is not in its plain form: it ${brokenRule(target, wider)}.`,
  });
}
