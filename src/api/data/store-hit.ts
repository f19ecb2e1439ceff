/**
 * A report that is not at hand in this process, but perhaps in the store: its whole path (`gateway.ts`) is begun before the
 * router sees the request. What comes to a plain hit is answered as one that was at hand. Everything else, problems among
 * it, goes on by the router's way with what was begun.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { randomId } from '../../lib/chance.js';
import { uptimeMs } from '../../lib/time.js';
import {
  HIT_BYTES,
  type Hit,
  type HitAnswer,
  type ReportCall,
  type ReportReply,
} from '../../reports/report-call.js';
import { createTrace, type Trace } from '../../telemetry/trace.js';
import { type Begun, handOver } from '../http/begun.js';
import { onResponseClosed } from '../http/on-response-closed.js';
import type { Onward } from '../http/server.js';
import type { SimpleRequest } from '../http/simple-request.js';
import { type ComposeHit, lengthOf } from './hit-answer.js';
import { REPORT_PREFIX } from './reports.js';

export interface StoreHitOptions {
  readonly report: (call: ReportCall) => Promise<ReportReply>;
  readonly compose: ComposeHit;
  readonly send: (request: IncomingMessage, response: ServerResponse, answer: HitAnswer) => void;
}

/** @param address of the caller, behind trusted proxies resolved */
export type AnswerFromStore = (
  request: IncomingMessage,
  response: ServerResponse,
  simple: SimpleRequest,
  address: string,
  onward: Onward,
) => void;

export function createStoreHits({ report, compose, send }: StoreHitOptions): AnswerFromStore {
  return (request, response, simple, address, onward) => {
    const begun = begin(report, simple, address, response);
    let isGone = false;
    const gone = () => {
      isGone = true;
      onward.gone(request, begun);
    };
    response.once('close', gone);
    const settled = (reply: ReportReply | null) => {
      if (isGone) return;
      response.off('close', gone);
      const hit = reply === null ? null : plainHit(reply, simple, begun.trace);
      if (hit !== null) {
        send(request, response, compose(simple.method, begun.id, hit, begun.startedMs));
        return;
      }
      handOver(request, begun);
      onward.goOn(request, response);
    };
    // Why there is none is told by the router's way.
    begun.reply.then(settled, () => settled(null));
  };
}

function begin(
  report: StoreHitOptions['report'],
  { method, target, keys, accept, acceptEncoding, ifNoneMatch }: SimpleRequest,
  address: string,
  response: ServerResponse,
): Begun {
  const startedMs = uptimeMs();
  const id = randomId();
  const trace = createTrace();
  const cut = target.indexOf('?');
  const path = cut < 0 ? target : target.slice(0, cut);
  trace.subject = path;
  const reply = report({
    ...{ id, method, target, keys, address, accept, acceptEncoding, ifNoneMatch, trace },
    endpoint: path.slice(REPORT_PREFIX.length),
    query: cut < 0 ? '' : target.slice(cut + 1),
    readBody: null,
    cacheControl: undefined,
    onResponseClosed: onResponseClosed(response),
  });
  return { id, trace, startedMs, reply };
}

/** @returns null for what is logged, counted or sent in any other way than a hit that was at hand */
function plainHit(reply: ReportReply, { target }: SimpleRequest, trace: Trace): Hit | null {
  const { team, key, outcome, tier, platformCalls, subject, rows, plainCalls, meant } = trace;
  if (outcome !== 'hit' || platformCalls > 0 || meant.length > 0) return null;
  if (reply.status !== 200 && reply.status !== 304) return null;
  if (team === null || key === null || lengthOf(reply.body ?? []) > HIT_BYTES) return null;
  const endpoint = (subject ?? target).slice(REPORT_PREFIX.length);
  // The place of its team is given back by the answer's own end.
  return { reply, team, key, endpoint, tier: tier ?? 'store', rows, plainCalls, leave: () => {} };
}
