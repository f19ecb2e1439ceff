/** Writes an answer to a connection that Node's HTTP has not seen, with the very bytes that Node would write. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { wallMs } from '../time.js';
import type { HitAnswer } from './report-call.js';

/** What Node refuses in a value, too: it would end the line, or the head. */
const BROKEN = /[^\t\x20-\x7e\x80-\xff]/;
/** A larger body is handed on as it is, for copying it would cost more than a second piece. */
const MAX_COPIED = 32_768;
const MAX_HEAD = 8192;

/** Head and body are put together here; used again where the system has taken all of it. */
let room = Buffer.allocUnsafeSlow(MAX_COPIED + MAX_HEAD);

let lastSecond = Number.NaN;
let lastDate = '';

/** Most answers are of one second. */
function dateNow(): string {
  const nowMs = wallMs();
  const second = Math.floor(nowMs / 1000);
  if (second !== lastSecond) [lastSecond, lastDate] = [second, `Date: ${new Date(nowMs).toUTCString()}\r\n`];
  return lastDate;
}

/** Lines of headers that several answers have. */
const sharedLines = new WeakMap<readonly string[], string>();

function linesOfShared(headers: readonly string[]): string {
  const known = sharedLines.get(headers);
  if (known !== undefined) return known;
  const lines = linesOf(headers);
  sharedLines.set(headers, lines);
  return lines;
}

/** @throws TypeError where a value has a character that no header may have */
function linesOf(headers: readonly string[]): string {
  let lines = '';
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] as string;
    if (BROKEN.test(value))
      throw new TypeError(`The header ${headers[at]} has a character that no header may have.`);
    lines += `${headers[at]}: ${value}\r\n`;
  }
  return lines;
}

const statusLines: Record<number, string> = {};

function statusLineOf(status: number): string {
  statusLines[status] ??= `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  return statusLines[status];
}

/**
 * @param ending the lines about the connection, with their ends
 * @throws TypeError where a value has a character that no header may have
 */
export function sendOnSocket(socket: Socket, { status, head, body }: HitAnswer, ending: string): void {
  const text = `${statusLineOf(status)}${linesOf(head[0])}${linesOfShared(head[1])}${dateNow()}${ending}\r\n`;
  if (body === null) socket.write(text, 'latin1');
  else if (body.length <= MAX_COPIED && text.length <= MAX_HEAD) sendInOne(socket, text, body);
  else {
    // Both in one call to the system.
    socket.cork();
    socket.write(text, 'latin1');
    socket.write(body);
    socket.uncork();
  }
}

function sendInOne(socket: Socket, text: string, body: Buffer): void {
  const end = room.write(text, 0, 'latin1');
  room.set(body, end);
  socket.write(room.subarray(0, end + body.length));
  // What waits is read from there yet.
  if (socket.writableLength > 0) room = Buffer.allocUnsafeSlow(room.length);
}
