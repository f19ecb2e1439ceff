/** HTTP byte for byte, past any client that would tidy it. */
import { connect, type Socket } from 'node:net';

export interface RawOptions {
  /** Further pieces, each sent when this many milliseconds have passed since the one before. */
  readonly later?: readonly { readonly afterMs: number; readonly bytes: string }[];
  /** How long the other side may keep the connection open. */
  readonly patienceMs?: number;
}

/**
 * Sends bytes and reads until the other side closes the connection.
 * @throws when it does not close it in time
 */
export function exchange(url: string, bytes: string, options: RawOptions = {}): Promise<string> {
  const { later = [], patienceMs = 15_000 } = options;
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = open(url, () => {
      socket.write(bytes, 'latin1');
      let delay = 0;
      for (const piece of later) {
        delay += piece.afterMs;
        setTimeout(() => socket.writable && socket.write(piece.bytes, 'latin1'), delay).unref();
      }
    });
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the connection was not closed in ${patienceMs} ms; so far:\n${text}`));
    }, patienceMs);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(text);
    });
    // A reset after the answer is a way of closing; what was read tells whether there was one.
    socket.once('error', () => {});
  });
}

function open(url: string, onConnect: () => void): Socket {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname, onConnect);
}

/** A request head with a body, lines ended as they must be. */
export function head(line: string, headers: readonly string[], body = ''): string {
  return `${[line, ...headers].join('\r\n')}\r\n\r\n${body}`;
}

const EMPTY_CHUNKS = '0\r\n\r\n';

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Splits what came over a connection into its answers, by their content-length; a chunked body must be empty. */
export function readAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(rest)?.[1];
    if (end < 0 || status === undefined) throw new Error(`no answer begins here:\n${rest}`);
    const top = rest.slice(0, end);
    const length = Number(/^content-length: *(\d+)/im.exec(top)?.[1] ?? 0);
    answers.push({ status: Number(status), head: top, body: rest.slice(end + 4, end + 4 + length) });
    const ended = /^transfer-encoding: *chunked$/im.test(top) ? EMPTY_CHUNKS.length : length;
    rest = rest.slice(end + 4 + ended);
  }
  return answers;
}
