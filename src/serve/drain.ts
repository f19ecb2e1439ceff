/**
 * How a process goes out of service without losing a request: from the signal on every answer says `connection: close`,
 * so that callers go elsewhere of themselves; the port stays open until what was under way has ended and nobody asks
 * any more; and a connection is closed only when it has been idle for a while, for one that is closed while a request
 * is on its way resets under it.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep, setImmediate as turnOfTheLoop } from 'node:timers/promises';

/** A caller that has not asked for so long is not between two requests. */
const IDLE_MS = 1000;
/** Longest time that new connections are taken after what was under way has ended: whoever goes on asking. */
const LISTEN_MS = 5000;
/** Part of the time to drain after which no new connections are taken, whatever is under way. */
const LISTEN_PART = 0.8;
const LOOK_MS = 25;
/** Turns of the loop in which nothing happens are looked for so often. */
const MOST_TURNS = 10_000;

export interface Drain {
  /** Requests under way. */
  underWay(): number;
  /**
   * From now on connections are let go of.
   * @param withinMs time there is for it; whatever is left then is the caller's to close
   * @returns resolves when there are none, and no new ones are taken
   */
  start(withinMs: number): Promise<void>;
}

interface Connection {
  /** Answers on it that have not ended; more than one where requests were sent ahead. */
  readonly answers: Set<ServerResponse>;
  /** When the last of them ended, or when it was opened; milliseconds. */
  idleSinceMs: number;
}

/**
 * @param servers that listen; to be told before their first connection
 * @param nowMs a clock that never jumps, milliseconds
 */
export function createDrain(servers: readonly Server[], nowMs = () => performance.now()): Drain {
  const connections = new Map<Socket, Connection>();
  let draining = false;
  let events = 0;
  let heardMs = Number.NEGATIVE_INFINITY;
  const heard = () => {
    events += 1;
    heardMs = nowMs();
  };
  const connectionOf = (socket: Socket): Connection => {
    const known = connections.get(socket);
    if (known !== undefined) return known;
    const connection = { answers: new Set<ServerResponse>(), idleSinceMs: nowMs() };
    connections.set(socket, connection);
    socket.once('close', () => connections.delete(socket));
    return connection;
  };
  for (const server of servers) {
    server.on('connection', (socket) => {
      heard();
      connectionOf(socket);
    });
    // In front of whatever answers, for it may do so at once.
    server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      heard();
      const connection = connectionOf(socket);
      connection.answers.add(response);
      if (draining) sayClose(response);
      response.once('close', () => {
        connection.answers.delete(response);
        connection.idleSinceMs = nowMs();
      });
    });
  }

  const all = () => [...connections.values()];
  const isIdle = ({ answers, idleSinceMs }: Connection) =>
    answers.size === 0 && nowMs() - idleSinceMs >= IDLE_MS;
  /** Whoever was told to close comes back on a new connection: that there is none at the moment says nothing. */
  const isQuiet = () => all().every(isIdle) && nowMs() - heardMs >= IDLE_MS;

  function underWayNow(): Promise<unknown> {
    const answers = all().flatMap((connection) => [...connection.answers]);
    return Promise.all(answers.map((answer) => new Promise((resolve) => answer.once('close', resolve))));
  }

  /**
   * Whoever waits in line to be accepted would be reset. The line is empty when a turn of the loop brought nobody; and
   * it still is when nothing else was done in that turn.
   */
  async function lineEmpty(): Promise<void> {
    for (let turns = 0, before = -1; before !== events && turns < MOST_TURNS; turns++) {
      before = events;
      await turnOfTheLoop();
    }
  }

  async function stopListening(): Promise<void> {
    for (const server of servers) {
      await lineEmpty();
      // Not the HTTP server's own way, which closes connections that look idle, requests on their way or not.
      if (server.listening) NetServer.prototype.close.call(server);
    }
  }

  return {
    underWay: () => all().reduce((sum, { answers }) => sum + answers.size, 0),
    async start(withinMs) {
      draining = true;
      const startedMs = nowMs();
      const past = (ms: number) => nowMs() - startedMs >= ms;
      for (const { answers } of all()) for (const answer of answers) sayClose(answer);
      await Promise.race([underWayNow(), sleep(withinMs * LISTEN_PART, undefined, { ref: false })]);
      while (!isQuiet() && !past(Math.min(LISTEN_MS, withinMs * LISTEN_PART))) await sleep(LOOK_MS);
      await stopListening();
      while (connections.size > 0) {
        for (const [socket, connection] of connections) if (isIdle(connection)) socket.destroySoon();
        // Held: when the last connection goes in between nothing else may keep the process until it has stopped.
        await sleep(LOOK_MS);
      }
    },
  };
}

/** Where its head is sent already, the next answer on its connection says so. */
function sayClose(answer: ServerResponse): void {
  if (!answer.headersSent) answer.setHeader('connection', 'close');
}
