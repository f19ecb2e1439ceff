/**
 * Everything below `/api/v1/` that is not a report: streamed by @fastify/http-proxy, with the platform client around each
 * request, so that token, budget, pause and retries are the same for all calls.
 */
import httpProxy, { type FastifyHttpProxyOptions } from '@fastify/http-proxy';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Dispatcher } from 'undici';
import { asGatewayError, type ErrorCode, GatewayError } from '../../errors.js';
import type { createRefusals } from '../../teams/write-guard/refusals.js';
import { guardUnavailable } from '../../teams/write-guard/reservations.js';
import type { Log } from '../../telemetry/logger.js';
import { shownPath } from '../http/finish.js';
import { agentOfSlots, askByProxy } from './ask-by-proxy.js';
import { type ChargingOptions, createCharging } from './charge-write.js';
import { checkAccount } from './checks.js';
import { returnedHeaders } from './clean-answer.js';
import { answerDryRun, DRY_RUN_HEADERS } from './dry-run.js';
import { type DefaultGuard, guardingOf, judgeWrite, refuse } from './guard-write.js';
import {
  type AdmitOptions,
  admitCaller,
  type Charge,
  type Guarding,
  type Passage,
  type PassContext,
  type Question,
  readQuestion,
  recognize,
} from './passage.js';
import { type AnsweringOptions, createAnswering } from './send.js';

interface PassThroughOptions extends AdmitOptions, Omit<AnsweringOptions, 'charging'>, ChargingOptions {
  readonly defaultGuard: DefaultGuard;
  readonly agent: Dispatcher;
  readonly platformUrl: URL;
  readonly maxBodyBytes: number;
  readonly refusals: Pick<ReturnType<typeof createRefusals>, 'note'>;
  readonly log: Pick<Log, 'clean'>;
  readonly now: () => number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when every check is passed. */
    passage: Passage | null;
  }
}

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

export function registerPassThrough(app: FastifyInstance, options: PassThroughOptions): void {
  const { rules, maxBodyBytes, agent, platformUrl, defaultGuard, brake } = options;
  const answer = createAnswering({ ...options, charging: createCharging(options) });
  app.decorateRequest('passage', null);
  const proxy: FastifyHttpProxyOptions & { websocket: false } = {
    upstream: platformUrl.origin,
    prefix: '/api/v1',
    rewritePrefix: `${platformUrl.pathname.replace(/\/$/, '')}/api/v1`,
    httpMethods: METHODS,
    disableRequestLogging: true,
    disableCache: true,
    websocket: false,
    undici: agentOfSlots(agent),
    // oxlint-disable-next-line typescript/no-misused-promises -- a hook of Fastify, which awaits it
    preHandler: async (request, reply) => {
      const context = await admitCaller(request, reply, options);
      request.trace.mark('admit');
      const guarding = guardingOf(context, defaultGuard);
      const question = await readQuestion(request, context, guarding, maxBodyBytes);
      const verdict = judgeWrite(guarding, context, question);
      if (guarding.kind !== 'read' && !question.dryRun) {
        brake.check(context.caller.team.id);
        refuse(verdict.checks);
      }
      if (question.fault === null) checkAccount(context, question, rules);
      request.trace.mark('check');
      if (question.dryRun) {
        const looked = await answerDryRun(context, question, verdict, options);
        return reply.headers(DRY_RUN_HEADERS).send(looked);
      }
      const judgeAgain = () => judgeAnew(request, context, guarding, question, options);
      const assertStillAllowed = () => void recognize(request, context.rule, options.identify);
      request.passage = { ...context, ...question, judgeAgain, assertStillAllowed };
      if (question.stream !== null) request.body = question.stream;
    },
    // The place among streamed calls is taken after the lookup of the idempotency key: a recorded answer needs none, and a
    // failure while waiting for a place has to free the key.
    handler: async (request, reply, destination, replyOptions) => {
      const { passage, trace } = request;
      if (passage === null)
        throw new GatewayError('internal_error', { internal: 'a request without a passage' });
      const { statusCode, headers, body } = await answer(passage, (call) =>
        askByProxy(reply, destination, { ...replyOptions, ...bodyOf(passage, request) }, call),
      ).catch((error: unknown) => {
        throw asGatewayError(error);
      });
      trace.mark('answer');
      if (passage.gone.aborted) {
        body.destroy();
        return reply;
      }
      return reply.code(statusCode).headers(returnedHeaders(headers)).send(body);
    },
    replyOptions: {
      queryString: (_search, _url, request) => request.passage?.query ?? '',
      // reply-from copies headers before the answer is checked, also those of failed tries: `handler` sets them instead.
      rewriteHeaders: () => ({}),
      // The platform client retries; reply-from reads retry-after as milliseconds.
      retryDelay: () => null,
    },
  };
  void app.register(async (scope) => {
    // Fastify parses text/plain by default, but bodies are passed through unchanged.
    scope.removeAllContentTypeParsers();
    scope.addHook('onError', (request, _reply, error, done) => {
      noteRefusal(request, error, options);
      done();
    });
    await scope.register(httpProxy, proxy);
  });
}

/** Codes of writes that a guard or a stop refused. */
const REFUSALS: readonly ErrorCode[] = ['write_guard_refused', 'write_guard_unavailable', 'writes_stopped'];

function noteRefusal(
  request: FastifyRequest,
  error: Error,
  { refusals, log, now }: Pick<PassThroughOptions, 'refusals' | 'log' | 'now'>,
): void {
  if (!(error instanceof GatewayError) || !REFUSALS.includes(error.code)) return;
  const { team, key } = request.trace;
  refusals.note({
    requestId: request.id,
    at: new Date(now()).toISOString(),
    team: team ?? '',
    key: key ?? '',
    route: `${request.method} ${shownPath(request, log.clean)}`,
    code: error.code,
    rule: error.options.errors?.[0]?.param ?? null,
  });
}

/** See {@link Passage.judgeAgain}. */
function judgeAnew(
  request: FastifyRequest,
  arrived: PassContext,
  before: Guarding,
  question: Question,
  { identify, rules, defaultGuard }: PassThroughOptions,
): Charge | null {
  const context = { ...arrived, caller: recognize(request, arrived.rule, identify) };
  const guarding = guardingOf(context, defaultGuard);
  if (guarding.kind === 'ruled' && before.kind !== 'ruled') throw guardUnavailable(RULED_NOW);
  const { checks, charge } = judgeWrite(guarding, context, question);
  refuse(checks);
  checkAccount(context, question, rules);
  return charge;
}

const RULED_NOW =
  'The write came under a write guard while it waited for its turn; nothing was sent. Send it again.';

/** The checked bytes of bodies that were read; otherwise reply-from streams `request.body`. */
function bodyOf(
  { body }: Passage,
  { headers }: FastifyRequest,
): { body?: Buffer | null; contentType?: string } {
  if (body === null) return {};
  return { body: body.length === 0 ? null : body, contentType: headers['content-type'] ?? '' };
}
