/**
 * One request to the platform by @fastify/reply-from, with the platform client around it: the client gives the slot, the
 * token and the deadline, and judges the answer before anything of it reaches the caller.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyHttpProxyOptions } from '@fastify/http-proxy';
import type { FastifyReply } from 'fastify';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../../errors.js';
import type { OutgoingCall, PlatformAnswer } from '../../platform/slot.js';

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

/** A header with a symbol as its name: no caller can send it, and undici drops it. */
const SIGNAL = Symbol('ends the call');

/**
 * The agent as reply-from is to use it. reply-from has no way to break off a request, so the signal travels among the
 * headers. Only a call that has a slot has a signal: any other is refused here, with nothing sent.
 */
export function agentOfSlots(agent: Dispatcher): { request: Dispatcher['request'] } {
  const request = (
    options: Dispatcher.RequestOptions,
    done: (error: Error | null, answer: Dispatcher.ResponseData) => void,
  ): void => {
    const { [SIGNAL]: signal } = options.headers as { readonly [SIGNAL]?: AbortSignal };
    if (signal !== undefined) agent.request({ ...options, signal }, done);
    else throw new GatewayError('internal_error', { internal: 'a call that no check let through' });
  };
  return { request: request as Dispatcher['request'] };
}

/** @param options further ones of reply-from @param call as the platform client has it; its path is the destination's */
export function askByProxy(
  reply: FastifyReply,
  destination: string,
  options: FastifyHttpProxyOptions['replyOptions'],
  { headers: own, signal }: OutgoingCall,
): Promise<PlatformAnswer> {
  const { raw, body, method } = reply.request;
  const isRead = method === 'GET' || method === 'HEAD';
  return new Promise((resolve, reject) => {
    // reply-from tells nobody of an answer to a request that its caller broke off. A read is then ended by its signal, and a
    // body that streams by its connection. A write that has arrived whole has to be answered, for its outcome must be known:
    // it does not count as broken off once its end was read.
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    const cut = () => raw.readableEnded || reject(new Error('the caller broke off its body'));
    if (body) reply.raw.once('close', cut);
    else if (!isRead) raw.resume();
    const told = {
      ...options,
      rewriteRequestHeaders: (_request, headers) =>
        ({
          ...passedOn(headers),
          'accept-encoding': 'identity',
          ...own,
          [SIGNAL]: signal,
        }) as IncomingHttpHeaders,
      onResponse: (_request, _reply, response) => resolve(answerOf(response)),
      // Fastify reports an unknown status as an error first, then as an answer; the platform client judges it.
      onError: (_reply, { error }) => queueMicrotask(() => reject(error.cause ?? error)),
    } satisfies FastifyHttpProxyOptions['replyOptions'];
    try {
      reply.from(destination, told);
    } catch (error) {
      // Thrown before anything was sent: a fault of the gateway's own, for which no circuit opens.
      reject(new GatewayError('internal_error', { cause: error }));
    }
  });
}

function passedOn(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      REQUEST_HEADERS.has(name) && value !== undefined ? [[name, String(value)]] : [],
    ),
  );
}

/** reply-from types its answer as one of Node's server, which has no body and another name for the status. */
function answerOf(response: unknown): PlatformAnswer {
  const { stream, ...answer } = response as Omit<PlatformAnswer, 'body'> & {
    readonly stream: PlatformAnswer['body'];
  };
  return { ...answer, body: stream };
}
