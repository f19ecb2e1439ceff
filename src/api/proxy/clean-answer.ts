/** The platform's answer to a pass-through request, streamed to the caller without the token. */
import { pipeline, type Readable, Transform } from 'node:stream';
import { GatewayError } from '../../errors.js';
import { startTicks, stopTicks, uptimeMs } from '../../lib/time.js';
import { type Headers, invalid, single } from '../../platform/interpret.js';
import { decoderOf, isDecodingError } from '../../platform/read-body.js';
import { holdsToken, maskStream } from '../../platform/scrub.js';
import type { Response } from '../../platform/slot.js';
import { createPatience, type PatienceRules } from './read-patience.js';

// Buffers for small answers, so that the platform's part of a call ends before the caller's.

/** Larger answers are streamed. */
const MOST_EACH = 1_048_576;
const MOST_TOGETHER = 64 * MOST_EACH;
/** Buffer of a stream. */
const HELD_ANYWAY = 65_536;

export function createAnswerBuffers(totalBytes = MOST_TOGETHER) {
  let taken = 0;
  return {
    /**
     * @param length of the answer in bytes; null: unknown
     * @returns bytes that may be buffered, 0: no more than in any stream; and a function to return them, to be called once
     */
    take(length: number | null): { readonly bytes: number; readonly giveBack: () => void } {
      const wanted = length ?? MOST_EACH;
      if (wanted <= HELD_ANYWAY || wanted > MOST_EACH || taken + wanted > totalBytes)
        return { bytes: 0, giveBack: () => {} };
      taken += wanted;
      // One piece more than the answer: a full stream does not end.
      return { bytes: wanted + HELD_ANYWAY, giveBack: () => (taken -= wanted) };
    },
    get taken(): number {
      return taken;
    },
  };
}

// The last stage of a streamed body. It ends a standstill.

/** Shortest and longest time between two checks, milliseconds. */
const [LOOK_MS, LOOK_MOST_MS] = [20, 1000];

/**
 * @param bufferBytes bytes that may be buffered for the caller
 * @param assertStillAllowed called at least once a second. @throws GatewayError if the caller has lost access
 * @returns a stream whose only failures are GatewayErrors
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
      try {
        assertStillAllowed();
      } catch (withdrawn) {
        return void outlet.destroy(withdrawn as Error);
      }
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

/** Fails with the same error for current listeners and for later readers of `errored`. */
class Outlet extends Transform {
  override destroy(error?: Error | null): this {
    return super.destroy(error ? asBodyFailure(error) : undefined);
  }
}

/** For the log only: the answer has already started. */
function tooSlow({ minBytesPerSecond, overMs }: PatienceRules): GatewayError {
  return new GatewayError('invalid_request', {
    status: 408,
    detail: `The caller read less than ${minBytesPerSecond} bytes per second over ${overMs / 1000} s.`,
  });
}

/** A body that fails after a valid head is a failure of the platform. */
function asBodyFailure(error: Error): GatewayError {
  if (error instanceof GatewayError) return error;
  if (isDecodingError(error)) {
    return new GatewayError('upstream_invalid_response', {
      internal: 'broken content-encoding',
      cause: error,
    });
  }
  return new GatewayError('upstream_error', { detail: 'The platform aborted its response.', cause: error });
}

/** Platform headers that are passed on; no range headers, because ranges are not passed on. */
const RESPONSE_HEADERS = new Set([
  'content-disposition',
  'content-language',
  'content-length',
  'content-type',
  'etag',
  'last-modified',
]);

export interface CleanAnswer {
  readonly statusCode: number;
  readonly headers: Headers;
  readonly body: Readable;
}

export interface CleanOptions extends PatienceRules {
  readonly buffers: ReturnType<typeof createAnswerBuffers>;
  /** Called once a second during the answer. @throws GatewayError if the caller has lost access */
  readonly assertStillAllowed: () => void;
}

/**
 * The platform's answer without its token and without content coding. It is aborted if the platform falls silent or the caller
 * does not read. Small answers are buffered, so that they do not hold a slot.
 * @throws GatewayError `upstream_invalid_response` for an unsupported coding, and for a part of a body
 */
export function cleanAnswer(response: Response, method: string, options: CleanOptions): CleanAnswer {
  if (response.status === 206) throw invalid('status 206 without a range request');
  const coding = decoderOf(single(response.headers['content-encoding']), response.body);
  // Without a body (RFC 9110, section 6.4.1) a decoder would fail.
  const bodiless = method === 'HEAD' || response.status === 204 || response.status === 304;
  const { 'content-length': length, ...headers } = shownHeaders(response);
  // Decoding changes the length, masking does not.
  const known = coding === null && length !== undefined;
  const buffer = options.buffers.take(bodiless ? 0 : known ? Number(length) : null);
  const outlet = createOutlet(options, buffer.bytes, options.assertStillAllowed);
  outlet.once('close', buffer.giveBack);
  const mask = maskStream(response.token);
  const ended = () => {};
  if (coding === null || bodiless) pipeline(response.body, mask, outlet, ended);
  else pipeline(response.body, coding, mask, outlet, ended);
  return {
    statusCode: response.status,
    headers: known ? { ...headers, 'content-length': length } : headers,
    body: outlet,
  };
}

function shownHeaders({ headers, token }: Response): Headers {
  const hopByHop = namesIn(headers.connection);
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) =>
        RESPONSE_HEADERS.has(name.toLowerCase()) &&
        !hopByHop.has(name.toLowerCase()) &&
        !holdsToken(Buffer.from(String(value), 'latin1'), token),
    ),
  );
}

/** Headers named by `connection` are hop-by-hop (RFC 9110, section 7.6.1). */
function namesIn(connection: string | string[] | undefined): ReadonlySet<string> {
  return new Set(
    String(connection ?? '')
      .split(',')
      .map((name) => name.trim().toLowerCase()),
  );
}

export function returnedHeaders(headers: Headers): Headers {
  return { 'cache-status': 'dsp-gateway; fwd=bypass', ...headers, 'cache-control': 'private, no-store' };
}
