/**
 * Has a server look at its connections before Node's parser does. As long as each request on a connection is of the
 * plainest form, and its answer at hand, it is answered here; with the first byte that is anything else the connection
 * goes to Node, that byte and all after it, for the rest of its life. So no message is ever read by two readers: what
 * was read here was answered, and what was not is as if it had not been looked at.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type PlainHead, readPlainHead } from './plain-head.js';
import type { HitAnswer } from './report-call.js';
import { sendOnSocket } from './send-on-socket.js';

export interface SocketRules {
  /** @returns null where it is not at hand: nothing has happened then */
  readonly answer: (request: PlainHead, socket: Socket) => HitAnswer | null;
  /** Told of an answer that the caller's connection has not taken all of. @returns to be called when it is over */
  readonly onWaiting: (socket: Socket) => () => void;
  /** From then on every request is Node's, whose answers say that the connection closes. */
  readonly isStopping: () => boolean;
}

/** Emitted by the server for each answer, with its socket: for whoever has to know when a connection was last used. */
export const ANSWERED = 'answered';

const NOTHING = Buffer.alloc(0);

/** A connection that Node's parser has not seen. */
interface Own {
  hasAnswered: boolean;
  /** Whether its caller has not taken all of an answer. */
  isWaiting: boolean;
  /** Whether its last answer said that it closes. */
  isClosing: boolean;
}

/** @param server whose rules for time and size hold here, too; before it listens */
export function lookFirst(server: Server, rules: SocketRules, maxHeaderBytes: number): void {
  const owned = new Map<Socket, Own>();
  const parse = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const own = { hasAnswered: false, isWaiting: false, isClosing: false };
    owned.set(socket, own);
    socket.once('close', () => owned.delete(socket));
    const send = createSend(server, rules, socket, own);
    listen(server, socket, own, {
      /** @returns where the next request begins, or null where nothing has happened */
      answer(text, from) {
        if (own.isWaiting || rules.isStopping()) return null;
        const request = readPlainHead(text, from, maxHeaderBytes);
        // What comes behind a request to close is not for this reader to drop.
        if (request === null || (request.close && request.end < text.length)) return null;
        const given = rules.answer(request, socket);
        if (given === null) return null;
        send(given, request.close);
        return request.end;
      },
      toNode() {
        owned.delete(socket);
        for (const one of parse) one.call(server, socket);
      },
    });
  });
  // Node's own know those alone that its parser has seen.
  const { closeAllConnections, closeIdleConnections } = server;
  server.closeAllConnections = () => {
    closeAllConnections.call(server);
    for (const socket of owned.keys()) socket.destroy();
  };
  server.closeIdleConnections = () => {
    closeIdleConnections.call(server);
    for (const [socket, { isWaiting }] of owned) if (!isWaiting) socket.destroy();
  };
}

interface Hands {
  readonly answer: (text: string, from: number) => number | null;
  readonly toNode: () => void;
}

/** Until the connection is Node's. */
function listen(server: Server, socket: Socket, own: Own, { answer, toNode }: Hands): void {
  const onData = (chunk: Buffer) => {
    if (own.isClosing) return;
    const text = chunk.toString('latin1');
    for (let at = 0; at < chunk.length; ) {
      const end = answer(text, at);
      if (end === null) return handOver(chunk.subarray(at));
      at = end;
    }
  };
  const onEnd = () => void socket.end();
  const onTimeout = () => {
    if (own.isWaiting) return;
    if (own.hasAnswered) socket.destroy();
    else server.emit('clientError', Object.assign(new Error('late'), { code: LATE }), socket);
  };
  function handOver(rest: Buffer): void {
    socket.off('data', onData).off('end', onEnd).off('timeout', onTimeout);
    socket.setTimeout(0);
    // Paused, or the rest would be given to nobody.
    socket.pause();
    socket.unshift(rest);
    toNode();
    socket.off('error', ignore);
    socket.resume();
  }
  socket.on('data', onData).on('end', onEnd).on('timeout', onTimeout).on('error', ignore);
  // Whoever says nothing has as long as Node gives for a head.
  socket.setTimeout(server.headersTimeout);
}

/** Node's name for it. */
const LATE = 'ERR_HTTP_REQUEST_TIMEOUT';

/** A connection that broke is closed, and that is told. */
function ignore(): void {}

function createSend(server: Server, rules: SocketRules, socket: Socket, own: Own) {
  const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(server.keepAliveTimeout / 1000)}\r\n`;

  /** As Node's `close` of a response: at its end, or the connection's. */
  function wait(done: HitAnswer['done']): void {
    const stopWatching = rules.onWaiting(socket);
    own.isWaiting = true;
    const over = (complete: boolean) => {
      if (!own.isWaiting) return;
      own.isWaiting = false;
      socket.off('close', gone);
      stopWatching();
      done(complete);
    };
    const gone = () => over(false);
    socket.once('close', gone);
    // Called when the system has all that stands before it.
    socket.write(NOTHING, (error) => over(!error));
  }

  return (given: HitAnswer, close: boolean): void => {
    sendOnSocket(socket, given, close ? 'Connection: close\r\n' : keepAlive);
    if (socket.writableLength === 0) given.done(socket.writable);
    else wait(given.done);
    server.emit(ANSWERED, socket);
    own.isClosing = close;
    if (close) socket.destroySoon();
    else if (!own.hasAnswered) socket.setTimeout(server.keepAliveTimeout);
    own.hasAnswered = true;
  };
}
