/** The last piece of a pass-through body's way: what waits for the caller waits here, and not for ever. */
import { Transform } from 'node:stream';
import { GatewayError } from '../../errors.js';
import { startTicks, stopTicks, uptimeMs } from '../../lib/time.js';
import { isDecodingError } from '../../platform/read-body.js';
import { createPatience, type PatienceRules } from './read-patience.js';

/** Least and longest time between two looks. */
const [LOOK_MS, LOOK_MOST_MS] = [20, 1000];

/**
 * @param bufferBytes what may wait for the caller, so that the platform's part is over before the caller's is
 * @param assertStillAllowed asked at each look, at least once a second. @throws GatewayError when the caller may not have more
 * @returns a stream that fails with a GatewayError, whatever broke it off
 */
export function createOutlet(
  rules: PatienceRules,
  bufferBytes: number,
  assertStillAllowed: () => void = () => {},
): Transform {
  const judge = createPatience(rules, uptimeMs());
  let arrived = 0;
  let whole = false;
  const outlet = new Outlet({
    ...(bufferBytes > 0 ? { readableHighWaterMark: bufferBytes } : {}),
    transform(chunk: Buffer, _encoding, done) {
      arrived += chunk.length;
      done(null, chunk);
    },
    flush(done) {
      whole = true;
      done();
    },
    destroy(error, done) {
      stopTicks(look);
      done(error);
    },
  });
  const everyMs = Math.min(rules.silenceMs, rules.overMs) / 5;
  const look = startTicks(
    () => {
      const withdrawn = faultOf(assertStillAllowed);
      if (withdrawn !== null) return void outlet.destroy(withdrawn);
      const waiting = outlet.readableLength;
      const full = waiting >= outlet.readableHighWaterMark;
      const standstill = judge({ arrived, taken: arrived - waiting, full, whole }, uptimeMs());
      if (standstill === 'platform-silent') outlet.destroy(new GatewayError('upstream_timeout'));
      if (standstill === 'caller-slow') outlet.destroy(tooSlow(rules));
    },
    Math.max(LOOK_MS, Math.min(LOOK_MOST_MS, everyMs)),
  );
  look.unref();
  return outlet;
}

function faultOf(check: () => void): Error | null {
  try {
    check();
    return null;
  } catch (error) {
    return error as Error;
  }
}

/** Fails with the same error for those who listen now and for those who look at it later. */
class Outlet extends Transform {
  override destroy(error?: Error | null): this {
    return super.destroy(error ? asBodyFailure(error) : undefined);
  }
}

/** Nobody is shown it, for the answer has begun: it is for the log. */
function tooSlow({ minBytesPerSecond, overMs }: PatienceRules): GatewayError {
  return new GatewayError('invalid_request', {
    status: 408,
    detail: `The caller read less than ${minBytesPerSecond} bytes a second over ${overMs / 1000} s.`,
  });
}

/** What broke off a body whose head was good is the platform's failure, and not the gateway's. */
function asBodyFailure(error: Error): GatewayError {
  if (error instanceof GatewayError) return error;
  if (isDecodingError(error)) {
    return new GatewayError('upstream_invalid_response', {
      internal: 'broken content-encoding',
      cause: error,
    });
  }
  return new GatewayError('upstream_error', { detail: 'The platform broke off its answer.', cause: error });
}
