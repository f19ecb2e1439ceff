/** Composes the answer to a plain hit, from memory or from the store: head, body, and what is counted at its end. */

import { uptimeMs } from '../../lib/time.js';
import type { RateStanding } from '../../limits/team-limits.js';
import type { Hit, HitAnswer, ReportReply } from '../../reports/report-call.js';
import { rateLimitHeaders } from '../http/rate-limit-headers.js';

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
