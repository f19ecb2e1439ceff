/** Writes an answer to a connection that Node's HTTP has not seen, with the very bytes that Node would write. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

export interface SocketAnswer {
  readonly status: number;
  /** Names and values in turn, with `content-length` where there is a body. */
  readonly head: readonly string[];
  readonly body: Buffer | null;
}

/** What Node refuses in a value, too: it would end the line, or the head. */
const BROKEN = /[^\t\x20-\x7e\x80-\xff]/;

let lastSecond = Number.NaN;
let lastDate = '';

/** Most answers are of one second. */
function dateNow(): string {
  const nowMs = Date.now();
  const second = Math.floor(nowMs / 1000);
  if (second !== lastSecond) [lastSecond, lastDate] = [second, new Date(nowMs).toUTCString()];
  return lastDate;
}

/**
 * @param ending the lines about the connection, with their ends
 * @throws TypeError where a value has a character that no header may have
 */
export function sendOnSocket(socket: Socket, { status, head, body }: SocketAnswer, ending: string): void {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let at = 0; at < head.length; at += 2) {
    const value = head[at + 1] as string;
    if (BROKEN.test(value))
      throw new TypeError(`The header ${head[at]} has a character that no header may have.`);
    text += `${head[at]}: ${value}\r\n`;
  }
  text += `Date: ${dateNow()}\r\n${ending}\r\n`;
  if (body === null) {
    socket.write(text, 'latin1');
    return;
  }
  // Both in one call to the system.
  socket.cork();
  socket.write(text, 'latin1');
  socket.write(body);
  socket.uncork();
}
