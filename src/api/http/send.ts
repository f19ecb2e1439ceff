/**
 * Sends answers: small ones as one write, as Node's `writeHead` and `end` check each header again and write three times; large
 * ones in pieces.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import { GatewayError } from '../../errors.js';
import { turn, wallMs } from '../../lib/time.js';
import { GONE } from '../../outcome.js';
import { AT_ONCE_BYTES, HIT_BYTES } from '../../reports/report-call.js';

/** A connection outlives the idle time of a load balancer (60 s is common), or it resets under a request. */
export const KEEP_ALIVE_MS = 72_000;
const KEPT = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n`;

/** Node's own members, unchanged since 0.10, as there is no public API. */
type Unsent = ServerResponse & { _header: string; _headerSent: boolean };

/** Of the buffer that head and body are copied to. One buffer for each answer would be slower than the copy. */
const BLOCK_BYTES = 65_536;
/** Of the status line, and the headers of the connection and of the request. */
const OWN_BYTES = 1024;
let block = Buffer.allocUnsafeSlow(BLOCK_BYTES);

/** @param headers names and values alternate; the values are valid */
export function headText(headers: readonly string[]): string {
  let text = '';
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return text;
}

/**
 * @param own headers of this answer, see {@link headText}
 * @param shared the other ones as bytes, with the empty line after them
 * @returns false if nothing was sent: an answer before it is not read yet, it ends the connection, or is large
 */
export function sendAtOnce(
  response: ServerResponse,
  status: number,
  own: string,
  shared: Buffer,
  body: Buffer | null,
): boolean {
  const { socket } = response;
  if (!(socket instanceof Socket) || socket.writableLength > 0 || !socket.writable) return false;
  if (!response.shouldKeepAlive || response.hasHeader('connection')) return false;
  if (own.length > OWN_BYTES || shared.length + (body?.length ?? 0) > BLOCK_BYTES - 2 * OWN_BYTES)
    return false;
  const head = `${startOf(status)}${own}`;
  let length = block.write(head, 'latin1');
  block.set(shared, length);
  length += shared.length;
  if (body !== null) {
    block.set(body, length);
    length += body.length;
  }
  response.statusCode = status;
  (response as Unsent)._header = head;
  (response as Unsent)._headerSent = true;
  socket.write(block.subarray(0, length));
  response.end();
  // The socket still reads this one.
  if (socket.writableLength > 0) block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  return true;
}

let starts: string[] = [];
let startsS = Number.NaN;

/** Status line and headers of date and connection, kept for one second. */
function startOf(status: number): string {
  const nowS = Math.floor(wallMs() / 1000);
  if (nowS !== startsS) [startsS, starts] = [nowS, []];
  starts[status] ??=
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: ${new Date(nowS * 1000).toUTCString()}\r\n${KEPT}`;
  return starts[status];
}

/**
 * Ends the stream of a request without a body, which Node would open, read and close. Node 24 does the same with
 * `optimizeEmptyRequests`.
 */
export function endEmpty(request: IncomingMessage): void {
  const { _readableState: state } = request as unknown as {
    readonly _readableState: Record<string, boolean>;
  };
  state.ended = true;
  state.endEmitted = true;
  state.destroyed = true;
  state.closed = true;
  state.closeEmitted = true;
  (request as IncomingMessage & { _dumped: boolean })._dumped = true;
}

/**
 * @returns registers a listener for the end of the answer: its last byte was given to the system, or the connection closed.
 * After the end, the listener is called at once
 */
export function onResponseClosed(raw: ServerResponse): (leave: () => void) => void {
  return (leave) => {
    if (raw.destroyed || raw.writableFinished) return leave();
    raw.once('finish', leave);
    raw.once('close', leave);
  };
}

/** The kernel accepts megabytes at once, which would block other answers for milliseconds. */
const TURN_BYTES = HIT_BYTES;

/** Sends a large body in pieces, over several turns of the event loop. Progress of the caller is measured per piece. */
export async function* inTurns(content: readonly Buffer[]): AsyncGenerator<Buffer> {
  let sent = 0;
  for (const piece of content)
    for (let at = 0; at < piece.length; at += AT_ONCE_BYTES) {
      const slice = piece.subarray(at, at + AT_ONCE_BYTES);
      sent += slice.length;
      if (sent > TURN_BYTES) {
        await turn();
        sent = slice.length;
      }
      yield slice;
    }
}

/** Aborted when the caller closes the connection before the answer is sent. */
export function goneSignal(raw: ServerResponse): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished)
      gone.abort(new GatewayError('invalid_request', { status: GONE, detail: 'The caller disconnected.' }));
  });
  return gone.signal;
}
