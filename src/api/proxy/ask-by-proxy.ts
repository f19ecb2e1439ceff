/**
 * One request to the platform by @fastify/reply-from. The platform client around it gives slot, token and deadline, and
 * checks the answer before the caller gets any of it.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyHttpProxyOptions } from '@fastify/http-proxy';
import type { FastifyReply } from 'fastify';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../../errors.js';
import type { OutgoingCall, PlatformAnswer } from '../../platform/slot.js';

/**
 * The caller's headers that are passed on. An allow-list, because no deny-list knows all spellings. No range: a token split
 * over two answers could not be masked.
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
 * The agent for reply-from. reply-from cannot abort a request, so the signal is passed among the headers. A call without a
 * slot has no signal and is refused here; nothing is sent.
 */
export function agentOfSlots(agent: Dispatcher): { request: Dispatcher['request'] } {
  const request = (
    options: Dispatcher.RequestOptions,
    done: (error: Error | null, answer: Dispatcher.ResponseData) => void,
  ): void => {
    const { [SIGNAL]: signal } = options.headers as { readonly [SIGNAL]?: AbortSignal };
    if (signal !== undefined) agent.request({ ...options, signal }, done);
    else throw new GatewayError('internal_error', { internal: 'a call without a slot' });
  };
  return { request: request as Dispatcher['request'] };
}

/** @param options further options of reply-from */
export function askByProxy(
  reply: FastifyReply,
  destination: string,
  options: FastifyHttpProxyOptions['replyOptions'],
  { headers: own, signal }: OutgoingCall,
): Promise<PlatformAnswer> {
  const { raw, body, method } = reply.request;
  const isRead = method === 'GET' || method === 'HEAD';
  return new Promise((resolve, reject) => {
    // reply-from reports no answer once the caller has disconnected. Then a read is ended by its signal, and a streaming body
    // by its connection. A write whose body was read to its end still needs its answer, because its outcome must be known.
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    const cut = () => raw.readableEnded || reject(new Error('the caller aborted its body'));
    if (body) reply.raw.once('close', cut);
    else if (!isRead) raw.resume();
    const proxied = {
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
      reply.from(destination, proxied);
    } catch (error) {
      // Thrown before anything was sent: an error of the gateway, so it must not open the circuit.
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

/** reply-from types its answer as a response of Node's server, without a body and with another name for the status. */
function answerOf(response: unknown): PlatformAnswer {
  const { stream, ...answer } = response as Omit<PlatformAnswer, 'body'> & {
    readonly stream: PlatformAnswer['body'];
  };
  return { ...answer, body: stream };
}
