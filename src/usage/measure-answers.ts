/** Documents how many bytes of a body each answer is, as they are sent: compressed, without its head. */
import { pipeline, type Readable, Transform } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Trace } from '../telemetry/trace.js';

export function measureAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload: unknown, done) => {
    const { trace } = request;
    const bodiless = request.method === 'HEAD' || reply.statusCode === 204 || reply.statusCode === 304;
    if (bodiless || payload === null || payload === undefined) return done(null, payload);
    if (typeof payload === 'string') trace.bytesOut = Buffer.byteLength(payload);
    else if (payload instanceof Uint8Array) trace.bytesOut = payload.length;
    else if (isStream(payload)) return done(null, measured(payload, trace));
    return done(null, payload);
  });
}

function isStream(payload: unknown): payload is Readable {
  return typeof (payload as { readonly pipe?: unknown }).pipe === 'function';
}

/** What is broken off counts as far as it came. */
function measured(stream: Readable, trace: Trace): Transform {
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      trace.bytesOut += chunk.length;
      next(null, chunk);
    },
  });
  // Whoever reads the meter learns of a failure from it.
  return pipeline(stream, meter, () => {});
}
