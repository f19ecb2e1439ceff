/** The end of every request, the same for all planes and for requests that no router has seen. */
import { pipeline, type Readable, Transform } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { RateStanding } from '../../limits/team-limits.js';
import type { EndedStage, Trace } from '../../telemetry/trace.js';
import type { Accounted } from './request-log.js';

export interface Finish {
  /** Headers that depend on what is known of the request at its end. */
  headersOf(trace: Trace): Readonly<Record<string, string>>;
  /** @returns what a refusal waits for; null: it does not wait */
  delay(trace: Trace, address: string): Promise<void> | null;
  /** Log, metrics, usage, tail and spans. @param complete false when the connection ended before the answer did */
  done(request: Accounted, status: number, durationMs: number, complete: boolean): void;
}

/** @param measures whether the bytes of answers are counted */
export function finishAnswers(app: FastifyInstance, finish: Finish, measures: boolean): void {
  app.addHook('onSend', (request, reply, payload: unknown, done) => {
    const { trace } = request;
    const isBodiless = request.method === 'HEAD' || reply.statusCode === 204 || reply.statusCode === 304;
    const sent = measures && !isBodiless ? measure(payload, trace) : payload;
    const delay = finish.delay(trace, request.ip);
    reply.headers(finish.headersOf(trace));
    if (delay === null) return done(null, sent);
    delay.then(
      () => done(null, sent),
      (error: Error) => done(error),
    );
  });
}

/** Counts the bytes of a body as they are sent: compressed, without the head. */
function measure(payload: unknown, trace: Trace): unknown {
  if (payload === null || payload === undefined) return payload;
  if (typeof payload === 'string') trace.bytesOut = Buffer.byteLength(payload);
  else if (payload instanceof Uint8Array) trace.bytesOut = payload.length;
  else if (typeof (payload as Partial<Readable>).pipe === 'function')
    return measured(payload as Readable, trace);
  return payload;
}

/** A body that is broken off counts as far as it was sent. */
export function measured(stream: Readable, trace: Trace): Transform {
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      trace.bytesOut += chunk.length;
      next(null, chunk);
    },
  });
  // Who reads the meter sees its failure.
  return pipeline(stream, meter, () => {});
}

/** `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10). */
export function rateLimitHeaders({ limit, left, resetS }: RateStanding): Record<string, string> {
  return {
    'ratelimit-policy': `"team";q=${limit};w=60`,
    ratelimit: `"team";r=${left};t=${resetS}`,
  };
}

/** @returns `server-timing`: the time of each stage, all its turns together, in the order of the first */
export function serverTiming(
  { stages }: { readonly stages: readonly EndedStage[] },
  totalMs: number,
): string {
  const took = new Map<string, number>();
  let beforeMs = 0;
  for (const { stage, endedMs } of stages) {
    took.set(stage, (took.get(stage) ?? 0) + endedMs - beforeMs);
    beforeMs = endedMs;
  }
  return [...took, ['total', totalMs] as const]
    .map(([name, ms]) => `${name};dur=${ms.toFixed(2)}`)
    .join(', ');
}

/** Refusals of wrong keys, which are held back. */
const GUESSES: readonly (string | null)[] = [
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'invalid_admin_token',
  'invalid_session',
];

export function isGuess({ code }: Pick<Trace, 'code'>): boolean {
  return GUESSES.includes(code);
}
