/** What is known of a pass-through request, step by step: who asks, and what they ask the platform for. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteRule } from '../../config/schema.js';
import { GatewayError } from '../../errors.js';
import type { QueryPair } from '../../reports/query/given-parameters.js';
import type { JsonObject } from '../../reports/rows/json.js';
import type { Caller, Identify } from '../../teams/auth/authenticate.js';
import type { TeamLimits } from '../../teams/limits/team-limits.js';
import { checkCaller } from '../../teams/policy/authorize.js';
import { nameInLife } from '../../teams/team-life.js';
import type { Trace } from '../../telemetry/trace.js';
import { onResponseClosed } from '../http/on-response-closed.js';
import { readKeyHeaders } from '../http/request-keys.js';
import { checkBody, checkQuery, findRule, isWrite, mustReadBody, type PassRules, scopeOf } from './checks.js';
import type { Charge, Guarding } from './guarding.js';
import type { KeyedRequest } from './idempotency.js';
import { readIdempotencyKey } from './idempotency-key.js';
import { canonicalFingerprint, fingerprint } from './idempotency-record.js';
import { type BodyNeed, takeBody } from './take-body.js';

const CHECKSUM = 'x-write-checksum';

/** Who asks which route. */
export interface PassContext {
  readonly caller: Caller;
  readonly method: string;
  readonly path: string;
  readonly rule: RouteRule | undefined;
  readonly trace: Trace;
  /** Aborted when the caller is gone. */
  readonly gone: AbortSignal;
}

/** What they ask it for. */
export interface Question {
  readonly pairs: readonly QueryPair[];
  /** The query, in the spelling in which it was checked. */
  readonly query: string;
  /** The very bytes that were checked; null when there are none, or the body is streamed. */
  readonly body: Buffer | null;
  /** The body that is streamed, checked as it goes; null when it was read, or there is none. */
  readonly stream: Readable | null;
  /** The object in `body`, when it is JSON. */
  readonly parsed: JsonObject | null;
  /** Of a guarded write: why there is no object in its body; null where there is one, or it is none of a guard's. */
  readonly fault: string | null;
  /** Set for a POST that carries an idempotency key. */
  readonly keyed: KeyedRequest | null;
  /** Whether nothing is to be sent. */
  readonly dryRun: boolean;
  /** `x-write-checksum`: of what its caller has looked at. */
  readonly givenChecksum: string | null;
}

/** A request that passed every check. Nothing else is sent to the platform. */
export type Passage = PassContext &
  Question & {
    /**
     * Passes a write through its checks once more, by what holds when its turn has come.
     * @returns what it takes of its day; null for a write that no rule is for
     * @throws GatewayError as on arrival; `write_guard_unavailable` where its body was not read as it would be now
     */
    readonly judgeAgain: () => Charge | null;
    /** @throws GatewayError 401, 403 when its caller may not use this route any more */
    readonly assertStillAllowed: () => void;
  };

export interface AdmitOptions {
  readonly identify: Identify;
  readonly limits: TeamLimits;
  readonly rules: PassRules;
}

/**
 * Who it is, and whether they may use this route now.
 * @throws GatewayError 401, 403, 429
 */
export async function admitCaller(
  request: FastifyRequest,
  reply: FastifyReply,
  { identify, limits, rules }: AdmitOptions,
): Promise<PassContext> {
  const { method, trace } = request;
  const [path] = splitTarget(request);
  trace.subject = path;
  trace.outcome = 'pass';
  const rule = findRule(method, path, rules);
  const caller = recognize(request, rule, identify);
  await limits.enter(caller.team, onResponseClosed(reply.raw));
  return { caller, method, path, rule, trace, gone: goneSignal(reply) };
}

/** Who it is as of now, and whether they may use this route. @throws GatewayError 401, 403 */
export function recognize(
  { method, raw, ip, trace }: FastifyRequest,
  rule: RouteRule | undefined,
  identify: Identify,
): Caller {
  const caller = identify(readKeyHeaders(raw), trace);
  checkCaller(caller, ip, scopeOf(method, rule));
  return caller;
}

/**
 * What is asked, in a spelling and in bytes that the platform can read in one way only. Says nothing of accounts.
 * @throws GatewayError `invalid_request`, `invalid_query`, `invalid_body`, `body_too_large`, `unsupported_media_type`
 */
export async function readQuestion(
  request: FastifyRequest,
  { caller, method, path, rule }: PassContext,
  guarding: Guarding,
  maxBodyBytes: number,
): Promise<Question> {
  const given = readIdempotencyKey(request.raw);
  if (given !== null && isWrite(method, rule) && method !== 'POST')
    throw new GatewayError('invalid_request', { detail: 'idempotency-key is for POST alone; leave it out.' });
  const key = method === 'POST' ? given : null;
  const { pairs, text: query, dryRun } = checkQuery(splitTarget(request)[1], isWrite(method, rule));
  const { headers } = request;
  const givenChecksum = readChecksum(headers, isWrite(method, rule));
  const reads = mustReadBody(caller, rule) || key !== null;
  const need = needOf(guarding, reads, dryRun || givenChecksum !== null);
  const {
    body,
    stream,
    parsed,
    fault = null,
  } = await takeBody({ stream: request.body as Readable | null | undefined, headers }, need, maxBodyBytes);
  if (parsed !== null) checkBody(parsed);
  const asked = { method, path, query };
  const { 'content-type': contentType, 'if-match': ifMatch } = headers;
  const keyed = key !== null && {
    team: nameInLife(caller.team.id, caller.key.life),
    key,
    request: fingerprint({ ...asked, body }),
    canonical: canonicalFingerprint({ ...asked, body: parsed, contentType, ifMatch }),
  };
  return { pairs, query, body, stream, parsed, fault, keyed: keyed || null, dryRun, givenChecksum };
}

function needOf({ kind }: Guarding, reads: boolean, compares: boolean): BodyNeed {
  if (kind === 'ruled') return 'guarded';
  if (reads) return 'json';
  return compares ? 'whole' : 'none';
}

function readChecksum({ [CHECKSUM]: given }: IncomingHttpHeaders, takesOne: boolean): string | null {
  if (given === undefined) return null;
  if (takesOne) return String(given);
  throw new GatewayError('invalid_request', { detail: `${CHECKSUM} is for writes alone.` });
}

/** @returns path and query as received; the router's own have been decoded */
function splitTarget({ raw: { url: target = '' } }: FastifyRequest): [string, string] {
  const cut = target.indexOf('?');
  return cut < 0 ? [target, ''] : [target.slice(0, cut), target.slice(cut + 1)];
}

function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    // 499 as nginx has it: there is nobody to be told, this is for the log.
    if (!raw.writableFinished)
      gone.abort(new GatewayError('invalid_request', { status: 499, detail: 'The caller is gone.' }));
  });
  return gone.signal;
}
