/** Requests that Node's parser refuses, and CONNECT: they never become a request, and are answered on the socket. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorCode, GatewayError, PROBLEM_TYPE, toProblem } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { wallMs } from '../../lib/time.js';

export interface Refused {
  readonly status: number;
  readonly code: ErrorCode;
}

/** The error's code where nothing is broken, and the gateway is taken for a proxy. */
export const IS_CONNECT = 'CONNECT';

/** @returns what was answered, or null when there was nobody to answer */
export function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket): Refused | null {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return null;
  }
  const refusal = refusalOf(error.code);
  const { code } = refusal;
  const problem = toProblem(refusal, randomId());
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${problem.requestId}`,
    `date: ${new Date(wallMs()).toUTCString()}`,
    'cache-control: no-store',
    // A 405 says which methods there are: of what is to be tunnelled to, none.
    ...(problem.status === 405 ? ['allow: '] : []),
    'connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  // Not only ended: whoever sends nonsense may keep its own half open for ever.
  socket.destroySoon();
  return { status: problem.status, code };
}

function refusalOf(cause: string | undefined): GatewayError {
  if (cause === IS_CONNECT)
    return new GatewayError('method_not_allowed', {
      detail: 'The gateway opens no tunnels: call it as a server, and not as a proxy.',
    });
  if (cause === 'HPE_HEADER_OVERFLOW') return new GatewayError('headers_too_large');
  const isLate = cause === 'ERR_HTTP_REQUEST_TIMEOUT' || cause === 'HPE_TIMEOUT';
  const detail = isLate
    ? 'The request was not whole in time (server.requestTimeoutSeconds); send it faster, or in smaller parts.'
    : 'The request is no HTTP that can be read in one way only: a malformed head, length or chunk.';
  return new GatewayError('invalid_request', { status: isLate ? 408 : 400, detail });
}

/** Whether the answer to an earlier request is under way on this connection: a second one must not stand inside of it. */
function isAnswering(socket: Socket): boolean {
  // Where Node's own handler looks, too; there is no public way to know.
  const { _httpMessage: message } = socket as Socket & { readonly _httpMessage?: ServerResponse | null };
  return message?.headersSent ?? false;
}
