/**
 * Everything under `/api/v1/` that is not a report: streamed to the platform and back by @fastify/http-proxy, with
 * the gateway's client underneath, so that token, budget, pause and retries are the same for all calls.
 */
import type { IncomingHttpHeaders } from 'node:http';
import httpProxy, { type FastifyHttpProxyOptions } from '@fastify/http-proxy';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Dispatcher } from 'undici';
import type { RouteRule } from '../../config/schema.js';
import { asGatewayError, GatewayError } from '../../errors.js';
import { accountLookalikes, type OwnIds } from '../../reports/query/account-lookalikes.js';
import { asDocument, collectAccounts, isAccountName } from '../../reports/query/accounts.js';
import { accountsInPath, type NamedAccount, namesOwner } from '../../reports/query/asked-accounts.js';
import type { QueryPair } from '../../reports/query/given-parameters.js';
import { type Json, JsonNumber } from '../../reports/rows/json.js';
import { checkAdvertiser } from '../../teams/policy/check-advertiser.js';
import { guardUnavailable } from '../../teams/write-guard/types.js';
import { type ChargingOptions, createCharging } from './charge-write.js';
import type { PassRules } from './checks.js';
import { returnedHeaders } from './clean-answer.js';
import { createDispatcher, type DispatcherOptions } from './dispatcher.js';
import { answerDryRun, DRY_RUN_HEADERS } from './dry-run.js';
import { type DefaultGuard, guardingOf, judgeWrite, refuse } from './guard-write.js';
import type { Charge, Guarding } from './guarding.js';
import {
  type AdmitOptions,
  admitCaller,
  type Passage,
  type PassContext,
  type Question,
  readQuestion,
  recognize,
} from './passage.js';

// May the team have this of the platform? The last look at accounts before a pass-through request is sent.

type Asker = Pick<PassContext, 'caller' | 'rule' | 'path'>;
type Asked = Pick<Question, 'pairs' | 'parsed'>;

/**
 * A limited team passes only on declared routes, and only with an account of its own.
 * @throws GatewayError `route_forbidden`, `advertiser_required`, `advertiser_forbidden`
 */
export function checkAccount({ caller, rule, path }: Asker, asked: Asked, rules: PassRules): void {
  if (caller.team.advertisers === '*') return;
  if (rule === undefined || rule.account.length === 0) throw new GatewayError('route_forbidden');
  const { pairs, parsed: body } = asked;
  const declared = rule.account.flatMap((place) => declaredAccount(place, asked));
  // The declared places first: a refusal then names the very field.
  const accounts: NamedAccount[] = [
    ...declared,
    ...accountsInPath(path),
    ...pairs.map((pair) => namedIn(pair, rules.accountPattern)),
    ...(body === null ? [] : [{ param: 'body', values: [...collectAccounts(body, rules.accountPattern)] }]),
  ];
  checkAdvertiser(caller, {
    accounts,
    namesAccount: declared.length > 0,
    accountFields: rule.account,
    // Of what `ids` are, the path says: `campaign/get`, or `advertiser/get`.
    lookalikes: (isOwn) => lookalikesOf(rule, asked, rules, { isOwn, bareIds: namesOwner(path) }),
  });
}

function lookalikesOf(
  rule: RouteRule,
  { pairs, parsed: body }: Asked,
  rules: PassRules,
  own: OwnIds,
): string[] {
  const inQuery = pairs.map(({ name, value }) => ({ name, value, asks: true }));
  const inBody = (body?.names ?? []).map((name, index) => ({
    name,
    value: body?.values[index] as Json,
    asks: rule.read,
  }));
  // A field that is declared for the one is not checked in the other.
  const fieldsIn = (place: string) =>
    rule.account
      .filter((field) => field.startsWith(`${place}.`))
      .map((field) => field.slice(place.length + 1));
  return [
    ...accountLookalikes(inQuery, { ...rules, accountFields: fieldsIn('query') }, own),
    ...accountLookalikes(inBody, { ...rules, accountFields: fieldsIn('body') }, own),
  ];
}

/** `advertisers[0][id]=2` names an account by all of its parts, as the same in a body would. */
function namedIn({ name, value }: QueryPair, pattern: RegExp): NamedAccount {
  if (isAccountName(name, pattern)) return { param: name, values: [value] };
  return { param: name, values: [...collectAccounts(asDocument(name, value), pattern)] };
}

/** @param place e.g. `query.advertiserId` or `body.userId` */
function declaredAccount(place: string, { pairs, parsed: body }: Asked): NamedAccount[] {
  const [where, name = ''] = place.split('.', 2);
  if (where === 'query') {
    return pairs.filter((pair) => pair.name === name).map(({ value }) => ({ param: place, values: [value] }));
  }
  const value = body?.get(name);
  if (value === undefined) return [];
  return [{ param: place, values: [scalarText(value)] }];
}

/** Anything but a plain number or text is no account of anybody's. */
function scalarText(value: Json): string {
  if (value instanceof JsonNumber) return value.text;
  return typeof value === 'string' ? value : '';
}

interface PassThroughOptions extends AdmitOptions, Omit<DispatcherOptions, 'charging'>, ChargingOptions {
  readonly defaultGuard: DefaultGuard;
  /** Where the platform is; below which path is the client's to know. */
  readonly platformOrigin: string;
  readonly maxBodyBytes: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when every check is passed. */
    passage: Passage | null;
  }
}

/**
 * Of the caller's headers only these go on: an allow-list, since no deny-list knows all spellings. No range: of an answer
 * that is sent in two pieces neither shows that it holds a half of the token.
 */
const REQUEST_HEADERS = new Set([
  'accept-language',
  'content-language',
  'content-length',
  'content-type',
  'content-encoding',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'prefer',
]);

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

export function registerPassThrough(app: FastifyInstance, options: PassThroughOptions): void {
  const { rules, maxBodyBytes, platformOrigin, defaultGuard, brake } = options;
  const dispatcher = createDispatcher({ ...options, charging: createCharging(options) });
  app.decorateRequest('passage', null);
  const proxy: FastifyHttpProxyOptions & { websocket: false } = {
    upstream: platformOrigin,
    prefix: '/api/v1',
    rewritePrefix: '/api/v1',
    httpMethods: METHODS,
    disableRequestLogging: true,
    disableCache: true,
    websocket: false,
    // It is called with a callback alone, and of the answer three members are read.
    undici: dispatcher as unknown as { request: Dispatcher['request'] },
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
        const answer = await answerDryRun(context, question, verdict, options);
        return reply.headers(DRY_RUN_HEADERS).send(answer);
      }
      const judgeAgain = () => judgeAnew(request, { context, guarding, question }, options);
      const assertStillAllowed = () => void recognize(request, context.rule, options.identify);
      request.passage = { ...context, ...question, judgeAgain, assertStillAllowed };
      if (question.stream !== null) request.body = question.stream;
    },
    handler: (request, reply, destination, replyOptions) =>
      dispatcher.run(request.passage, () => reply.from(destination, { ...replyOptions, ...bodyOf(request) })),
    replyOptions: {
      queryString: (_search, _url, request) => request.passage?.query ?? '',
      rewriteRequestHeaders: (_request, headers) => ({ ...allowed(headers), 'accept-encoding': 'identity' }),
      rewriteHeaders: (headers, request) => {
        request?.trace.mark('answer');
        return returnedHeaders(headers);
      },
      // The gateway's own retry policy holds; reply-from's takes the unit of retry-after for milliseconds.
      retryDelay: () => null,
      onError: (reply, { error }) => {
        void reply.send(asGatewayError(error.cause instanceof GatewayError ? error.cause : error));
      },
    },
  };
  void app.register(httpProxy, proxy);
}

/** What was known of a write on its arrival. */
interface Arrived {
  readonly context: PassContext;
  readonly guarding: Guarding;
  readonly question: Question;
}

/** See {@link Passage.judgeAgain}. */
function judgeAnew(
  request: FastifyRequest,
  { context: arrived, guarding: before, question }: Arrived,
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

function allowed(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      REQUEST_HEADERS.has(name) && value !== undefined ? [[name, String(value)]] : [],
    ),
  );
}

/** The bytes that were checked, for what was read; reply-from streams `request.body` otherwise. */
function bodyOf({ passage, headers }: FastifyRequest): { body?: Buffer | null; contentType?: string } {
  const body = passage?.body ?? null;
  if (body === null) return {};
  return { body: body.length === 0 ? null : body, contentType: headers['content-type'] ?? '' };
}
