/** State of a pass-through request, step by step: caller and route, request, rules of a write. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteRule } from '../../config/schema.js';
import { GatewayError } from '../../errors.js';
import type { QueryPair } from '../../reports/query/given-parameters.js';
import type { Caller, Identify } from '../../teams/auth/authenticate.js';
import { nameInLife } from '../../teams/auth/team.js';
import type { TeamLimits } from '../../teams/limits/limits.js';
import { checkCaller } from '../../teams/policy/authorize.js';
import type { Check } from '../../teams/write-guard/check-write.js';
import type { GuardRule } from '../../teams/write-guard/rule.js';
import type { Trace } from '../../telemetry/trace.js';
import { readKeyHeaders } from '../http/caller.js';
import { nearReport, REPORTS } from '../http/not-found.js';
import { splitTarget } from '../http/path-gate.js';
import { goneSignal, onResponseClosed } from '../http/send.js';
import {
  checkBody,
  checkPassedQuery,
  findRule,
  isWrite,
  mustReadBody,
  type PassRules,
  scopeOf,
} from './checks.js';
import {
  canonicalFingerprint,
  fingerprint,
  type KeyedRequest,
  readIdempotencyKey,
} from './idempotency-record.js';
import { type BodyNeed, type TakenBody, takeBody } from './take-body.js';

export interface PassContext {
  readonly caller: Caller;
  readonly method: string;
  readonly path: string;
  readonly rule: RouteRule | undefined;
  readonly trace: Trace;
  /** Aborted when the caller is gone. */
  readonly gone: AbortSignal;
}

export interface Question extends Omit<TakenBody, 'fault'> {
  readonly pairs: readonly QueryPair[];
  /** The checked query, in canonical spelling. */
  readonly query: string;
  /** For a guarded write, the reason why its body is not an object; otherwise null. */
  readonly fault: string | null;
  /** For a POST with an idempotency key. */
  readonly keyed: KeyedRequest | null;
  readonly dryRun: boolean;
  /** `x-write-checksum`, from a dry run. */
  readonly givenChecksum: string | null;
}

export type Guarding =
  | { readonly kind: 'read' }
  /** A write without a rule that may be sent. */
  | { readonly kind: 'open' }
  /** A write without a rule that may not be sent. */
  | { readonly kind: 'closed'; readonly check: Check }
  | { readonly kind: 'ruled'; readonly route: string; readonly rule: GuardRule };

export interface DayLimit {
  readonly route: string;
  /** Millionths, as all amounts here. */
  readonly max: number;
  readonly currency: string | undefined;
}

export interface Charge extends Omit<DayLimit, 'max'> {
  /** null where the rule has no budget. */
  readonly amount: number | null;
  /** null where the day has no limit. */
  readonly max: number | null;
}

/** A request that passed every check. Nothing else is sent to the platform. */
export type Passage = PassContext &
  Question & {
    /**
     * Checks a write again just before it is sent, by the current rules.
     * @returns its charge; null for a write without a rule
     * @throws GatewayError as on arrival; `write_guard_unavailable` if its body would be read differently now
     */
    readonly judgeAgain: () => Charge | null;
    /** @throws GatewayError 401, 403 if the caller has lost access to the route */
    readonly assertStillAllowed: () => void;
  };

export interface AdmitOptions {
  readonly identify: Identify;
  readonly limits: TeamLimits;
  readonly rules: PassRules;
  /** Whether a report of this path below `/api/v1/report/` is declared. */
  readonly isReport: (endpoint: string) => boolean;
}

/** Authenticates and authorizes the caller for the route. @throws GatewayError 401, 403, 404, 429 */
export async function admitCaller(
  request: FastifyRequest,
  reply: FastifyReply,
  { identify, limits, rules, isReport }: AdmitOptions,
): Promise<PassContext> {
  const { method, trace } = request;
  // As received: the router's own is decoded.
  const [path] = splitTarget(request.raw.url ?? '');
  trace.subject = path;
  trace.outcome = 'pass';
  const rule = findRule(method, path, rules);
  const meant = rule === undefined ? nearReport(path) : undefined;
  if (meant !== undefined && isReport(meant.slice(REPORTS.length))) {
    identify(readKeyHeaders(request.raw), trace);
    throw new GatewayError('not_found', {
      detail: `No route ${path} is declared: did you mean ${meant}?`,
      help: `Use ${meant}; if the platform has ${path} too, ask your operator to declare it in routes.`,
    });
  }
  const caller = recognize(request, rule, identify);
  await limits.enter(caller, onResponseClosed(reply.raw));
  return { caller, method, path, rule, trace, gone: goneSignal(reply.raw) };
}

/** The same without limits, by the current state. @throws GatewayError 401, 403 */
export function recognize(
  { method, raw, ip, trace }: FastifyRequest,
  rule: RouteRule | undefined,
  identify: Identify,
): Caller {
  const caller = identify(readKeyHeaders(raw), trace);
  checkCaller(caller, ip, scopeOf(method, rule));
  return caller;
}

/** JSON and forms up to this size are searched for `_method`, whoever sends them (contract). */
const SEARCHED_BYTES = 1_048_576;

/**
 * The request, checked to be unambiguous for the platform. Accounts are checked elsewhere.
 * @throws GatewayError `invalid_request`, `invalid_query`, `invalid_body`, `body_too_large`, `unsupported_media_type`
 */
export async function readQuestion(
  request: FastifyRequest,
  { caller, method, path, rule }: PassContext,
  guarding: Guarding,
  maxBodyBytes: number,
): Promise<Question> {
  const { headers, raw } = request;
  const writes = isWrite(method, rule);
  const given = readIdempotencyKey(raw);
  if (given !== null && writes && method !== 'POST')
    throw new GatewayError('invalid_request', { detail: 'idempotency-key is for POST only.' });
  const key = method === 'POST' ? given : null;
  const { pairs, text: query, dryRun } = checkPassedQuery(splitTarget(raw.url ?? '')[1], writes);
  const givenChecksum = readChecksum(headers, writes);
  const reads = mustReadBody(caller, rule) || key !== null;
  const need = needOf(guarding, reads, dryRun || givenChecksum !== null);
  const sent = { stream: request.body as Readable | null | undefined, headers };
  const maxBytes = need === 'none' ? Math.max(maxBodyBytes, SEARCHED_BYTES) : maxBodyBytes;
  const { fault = null, ...taken } = await takeBody(sent, need, maxBytes);
  const { body, parsed } = taken;
  if (parsed !== null) checkBody(parsed);
  const asked = { method, path, query };
  const { 'content-type': contentType, 'if-match': ifMatch } = headers;
  const keyed =
    key === null
      ? null
      : {
          team: nameInLife(caller.team.id, caller.key.life),
          key,
          request: fingerprint({ ...asked, body }),
          canonical: canonicalFingerprint({ ...asked, body: parsed, contentType, ifMatch }),
        };
  return { ...taken, pairs, query, fault, keyed, dryRun, givenChecksum };
}

function needOf({ kind }: Guarding, reads: boolean, compares: boolean): BodyNeed {
  if (kind === 'ruled') return 'guarded';
  if (reads) return 'json';
  return compares ? 'whole' : 'none';
}

function readChecksum({ 'x-write-checksum': given }: IncomingHttpHeaders, takesOne: boolean): string | null {
  if (given === undefined) return null;
  if (takesOne) return String(given);
  throw new GatewayError('invalid_request', { detail: 'x-write-checksum is for writes only.' });
}
