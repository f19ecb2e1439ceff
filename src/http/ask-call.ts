/** A question about a report, which is named by two members: `endpoint`, and `query` as one URL-encoded text. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { onResponseClosed } from './on-response-closed.js';
import type { ReportCall } from './report-call.js';
import { readKeyHeaders } from './request-keys.js';

export interface AskCall
  extends Pick<
    ReportCall,
    'id' | 'keys' | 'address' | 'accept' | 'ifNoneMatch' | 'trace' | 'onResponseClosed' | 'isCharged'
  > {
  /** As received, without `?`: not a byte of it is read before it is known who asks. */
  readonly query: string;
}

/** Counted and logged as a report is: under the path, never with its query. */
export function readAskCall(request: FastifyRequest, reply: FastifyReply): AskCall {
  const target = request.raw.url ?? '';
  const cut = target.indexOf('?');
  request.trace.subject = cut < 0 ? target : target.slice(0, cut);
  return {
    id: request.id,
    query: cut < 0 ? '' : target.slice(cut + 1),
    keys: readKeyHeaders(request.raw),
    address: request.ip,
    accept: request.headers.accept,
    ifNoneMatch: request.headers['if-none-match'],
    trace: request.trace,
    onResponseClosed: onResponseClosed(reply.raw),
  };
}
