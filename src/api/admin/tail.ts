/** Requests on the data plane: live, `GET /admin/v1/tail`, and failed ones as a list and by id, `GET /admin/v1/requests`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isIsoDate } from '../../config/values.js';
import { CATALOGUE } from '../../errors/catalogue.js';
import { type FieldFault, GatewayError, invalidQuery } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { didYouMean, meantName } from '../../lib/near-name.js';
import type { Services } from '../../server/services.js';
import { findRequest, listRequests, tail as tailOperation } from '../operations/overview.js';
import { FAILED_REQUESTS_KEPT, PREFIX_LENGTH } from '../tail/failed-requests.js';
import { createTailStream } from '../tail/stream.js';
import type { TailLine } from '../tail/tail.js';
import { serve } from './serve.js';
import { noTeam } from './teams.js';

interface TailRoutesOptions extends Pick<Services, 'tail' | 'failedRequests' | 'directory' | 'clock'> {
  readonly stopping: () => boolean;
  /** Rejects if the caller has lost access. */
  readonly checkAgain: (request: FastifyRequest) => Promise<void>;
}

export function registerTail(app: FastifyInstance, options: TailRoutesOptions): void {
  const { tail, failedRequests, directory, clock, stopping, checkAgain } = options;
  serve(app, findRequest, async ({ params: { id } }) => {
    const { line, matches, searched, processes } = await failedRequests.find(id);
    if (line !== null) return shownRequest(line);
    if (matches > 1)
      throw new GatewayError('not_found', {
        detail: `${matches} requests have an id that begins with ${id}.`,
        help: 'Give more of the id, or all of it; the list of requests has it.',
      });
    if (id.length < PREFIX_LENGTH)
      throw new GatewayError('not_found', {
        detail: `No request has the id ${id}; of a longer id, at least six characters are needed.`,
        help: 'Give more of the id, or all of it; the list of requests has it.',
      });
    const kept = FAILED_REQUESTS_KEPT.toLocaleString('en-US');
    throw new GatewayError('not_found', {
      detail: `No request with this id is among the last ${kept} that each process answered with a problem; ${searched} of ${processes} ${processes === 1 ? 'process was' : 'processes were'} searched.`,
      help: 'Search the log for the id: each request is a line with its requestId, also older ones and those before a restart.',
    });
  });
  serve(app, listRequests, async ({ query }) => {
    const { outcome = null, part: named = null, team = null, code = null, limit = 50 } = query;
    if (code !== null && !Object.hasOwn(CATALOGUE, code)) throw invalidQuery(unknownCode(code));
    const [fromMs, untilMs] = [timeOf('since', query.since), timeOf('until', query.until)];
    const part = named === 'token' ? 'credential' : named;
    const filter = { outcome, part, team, code, fromMs, untilMs, limit, oldest: false };
    const { lines, all, ...searched } = await failedRequests.list(filter);
    // A deleted team may have requests.
    if (team !== null && all === 0 && directory.team(team) === undefined) throw noTeam(team, directory);
    return { requests: lines.map(shownRequest), more: Math.max(0, all - lines.length), ...searched };
  });
  serve(app, tailOperation, async (request, reply) => {
    const { team = null, outcome = null, seconds } = request.query;
    if (stopping())
      throw new GatewayError('not_ready', { detail: 'This process is stopping.', retryAfterS: 1 });
    if (team !== null && directory.team(team) === undefined) throw noTeam(team, directory);
    void reply.type('application/x-ndjson').header('x-accel-buffering', 'no');
    if (request.method === 'HEAD') return reply.send('');
    const mayContinue = async () => {
      if (stopping()) return false;
      await checkAgain(request as FastifyRequest);
      return true;
    };
    const durationMs = seconds === undefined ? null : seconds * 1000;
    return reply.send(
      createTailStream({ tail, team, outcome, durationMs, mayContinue, monotonicMs: clock.monotonicMs }),
    );
  });
}

const TITLES: Readonly<Record<string, { readonly title: string }>> = CATALOGUE;

function unknownCode(code: string): FieldFault {
  const near = meantName(code, Object.keys(CATALOGUE));
  if (near === undefined)
    return mustBe('code', 'a code of a problem, as the column problem of the list shows');
  return { param: 'code', message: `is no code of a problem: ${didYouMean(near)}`, help: `Send ${near}.` };
}

/** A code of another release has no words here. */
function shownRequest(line: TailLine) {
  const title = TITLES[line.code ?? '']?.title;
  return title === undefined ? line : { ...line, title };
}

/** @throws GatewayError `invalid_query` */
function timeOf(param: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!isIsoDate(text))
    throw invalidQuery(mustBe(param, 'an ISO date or time, e.g. 2026-11-01 or 2026-11-01T14:00:00Z'));
  return Date.parse(text);
}
