/**
 * What is answered to a plain request for a report that is finished and at hand, whoever sends it: head and body, and
 * what is to be told when it is over. The path is the same as the router's, `gateway.ts`; what is left out is what Fastify
 * does around it.
 */
import { randomId } from '../chance.js';
import { GatewayError } from '../errors.js';
import { rateLimitHeaders } from '../http/rate-limit-headers.js';
import { ELSEWHERE, type Hit, type HitAnswer, type HitCall, type ReportReply } from '../http/report-call.js';
import type { SimpleRequest } from '../http/simple-request.js';
import type { RateStanding } from '../limits/team-limits.js';
import { uptimeMs } from '../time.js';
import { REPORT_PREFIX } from './reports.js';

/** A hit that was sent, for log, metrics and usage. */
export interface FastAnswer {
  readonly id: string;
  readonly method: string;
  readonly durationMs: number;
  /** Bytes of its body. */
  readonly bytes: number;
  /** False when the connection ended before the answer did. */
  readonly complete: boolean;
  readonly hit: Hit;
}

export interface ComposeOptions {
  /** Null when there is no such team any more. */
  readonly rate: (team: string) => RateStanding | null;
  /** What answers vary by beside what they say themselves: `origin`, where pages of other origins may ask. */
  readonly alsoVary: string;
  /** Further headers of every answer: names and values. */
  readonly headers: readonly string[];
  readonly onDone: (answer: FastAnswer) => void;
}

export interface HitAnswerOptions {
  /** @param address of the caller, behind trusted proxies resolved. @throws GatewayError what the router's way would */
  readonly hit: (call: HitCall, address: string) => Hit | typeof ELSEWHERE | null;
  readonly compose: ComposeHit;
}

/**
 * @returns `ELSEWHERE` for what may be in the store, and null for whatever is left to the router: nothing was charged or
 * noted of either
 */
export type AnswerHit = (
  request: SimpleRequest,
  address: () => string,
) => HitAnswer | typeof ELSEWHERE | null;

/** @param startedMs when the request came, by `uptimeMs()` */
export type ComposeHit = (method: string, id: string, hit: Hit, startedMs: number) => HitAnswer;

export function createComposeHit(options: ComposeOptions): ComposeHit {
  const sharedOf = createSharedHeads(options);
  return (method, id, hit, startedMs) => {
    const body = method === 'HEAD' || hit.reply.body === null ? null : whole(hit.reply.body);
    return {
      status: hit.reply.status,
      head: [ownHead(options, id, hit), sharedOf(hit.reply)],
      body,
      done(complete) {
        hit.leave();
        const durationMs = uptimeMs() - startedMs;
        options.onDone({ id, method, durationMs, bytes: body?.length ?? 0, complete, hit });
      },
    };
  };
}

export function createAnswerHit(options: HitAnswerOptions): AnswerHit {
  return (request, address) => {
    const startedMs = uptimeMs();
    if (!request.target.startsWith(REPORT_PREFIX)) return null;
    const hit = hitOf(options, request, address());
    if (hit === null || hit === ELSEWHERE) return hit;
    return options.compose(request.method, randomId(), hit, startedMs);
  };
}

/** Whoever is refused anything is told so on the way on. */
function hitOf({ hit }: HitAnswerOptions, call: HitCall, address: string): ReturnType<typeof hit> {
  try {
    return hit(call, address);
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

function ownHead({ rate }: ComposeOptions, id: string, hit: Hit): string[] {
  const head = ['x-request-id', id];
  const standing = rate(hit.team);
  const limits = standing === null ? {} : rateLimitHeaders(standing);
  for (const name in limits) head.push(name, limits[name] as string);
  return head;
}

/** @returns makes the headers of a reply once, however often it is given */
function createSharedHeads({ headers: further, alsoVary }: ComposeOptions) {
  const heads = new WeakMap<ReportReply, readonly string[]>();
  return (reply: ReportReply): readonly string[] => {
    const known = heads.get(reply);
    if (known !== undefined) return known;
    const { headers, body } = reply;
    const head = [...further];
    for (const name in headers) head.push(name, headers[name] as string);
    if (alsoVary !== '') head[head.indexOf('vary') + 1] += alsoVary;
    if (body !== null) head.push('content-length', String(lengthOf(body)));
    heads.set(reply, head);
    return head;
  };
}

export function lengthOf(body: readonly Buffer[]): number {
  let length = 0;
  for (const piece of body) length += piece.length;
  return length;
}

function whole(body: readonly Buffer[]): Buffer {
  return body.length === 1 ? (body[0] as Buffer) : Buffer.concat(body);
}
