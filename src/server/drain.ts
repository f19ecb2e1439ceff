/**
 * How a process goes out of service without losing a request: from the signal on every answer says `connection: close`,
 * so that callers go elsewhere of themselves; the port stays open until what was under way has ended and nobody asks
 * any more; and a connection is closed only when it has been idle for a while, for one that is closed while a request
 * is on its way resets under it.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { sleep, turn, uptimeMs } from '../lib/time.js';

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

/**
 * @param servers that listen; to be told before their first connection
 * @param nowMs a clock that never jumps, milliseconds
 */
export function createDrain(servers: readonly Server[], nowMs = uptimeMs): Drain {
  const connections = watchConnections(servers, nowMs);
  return {
    underWay: connections.underWay,
    async start(withinMs) {
      const startedMs = nowMs();
      const past = (ms: number) => nowMs() - startedMs >= ms;
      connections.sayClose();
      await Promise.race([connections.answered(), sleep(withinMs * LISTEN_PART, { ref: false })]);
      while (!connections.isQuiet() && !past(Math.min(LISTEN_MS, withinMs * LISTEN_PART)))
        await sleep(LOOK_MS);
      await stopListening(servers, connections);
      while (connections.count > 0) {
        connections.closeIdle();
        // Held: when the last connection goes in between nothing else may keep the process until it has stopped.
        await sleep(LOOK_MS);
      }
    },
  };
}

async function stopListening(servers: readonly Server[], connections: Connections): Promise<void> {
  for (const server of servers) {
    await lineEmpty(connections);
    // Not the HTTP server's own way, which closes connections that look idle, requests on their way or not.
    if (server.listening) NetServer.prototype.close.call(server);
  }
}

/**
 * Whoever waits in line to be accepted would be reset. The line is empty when a turn of the loop brought nobody; and it
 * still is when nothing else was done in that turn.
 */
async function lineEmpty({ arrivals }: Connections): Promise<void> {
  for (let turns = 0, before = -1; before !== arrivals() && turns < MOST_TURNS; turns++) {
    before = arrivals();
    await turn();
  }
}

/** A caller that has not asked for so long is not between two requests. */
const IDLE_MS = 1000;

interface Connections {
  readonly count: number;
  /** Requests under way, answers that were not read yet among them. */
  underWay(): number;
  /** Resolves when the answers that are under way now have ended. */
  answered(): Promise<unknown>;
  /** From now on every answer says that its connection closes, those under way included. */
  sayClose(): void;
  /** Whether nothing is under way, and nobody has come for a while. */
  isQuiet(): boolean;
  /** Closes those on which nothing has been under way for a while. */
  closeIdle(): void;
  /** How many connections and requests have come; it grows. */
  arrivals(): number;
}

interface Connection {
  /**
   * Answers on it that have not ended; more than one where requests were sent ahead. No Set: its tables are linked to
   * those they replace, and so keep answers that ended from being collected young.
   */
  readonly answers: ServerResponse[];
  /** When the last of them ended, or when it was opened; milliseconds. */
  idleSinceMs: number;
}

/**
 * @param servers to be told before their first connection
 * @param nowMs a clock that never jumps, milliseconds
 */
function watchConnections(servers: readonly Server[], nowMs: () => number): Connections {
  const connections = new Map<Socket, Connection>();
  let closing = false;
  let arrivals = 0;
  let heardMs = Number.NEGATIVE_INFINITY;

  function arrived(socket: Socket): Connection {
    arrivals += 1;
    heardMs = nowMs();
    const known = connections.get(socket);
    if (known !== undefined) return known;
    const connection: Connection = { answers: [], idleSinceMs: heardMs };
    connections.set(socket, connection);
    socket.once('close', () => connections.delete(socket));
    return connection;
  }

  function answering({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = arrived(socket);
    connection.answers.push(response);
    if (closing) sayClose(response);
    response.once('close', () => {
      connection.answers.splice(connection.answers.indexOf(response), 1);
      connection.idleSinceMs = nowMs();
    });
  }

  for (const server of servers) {
    server.on('connection', arrived);
    // In front of whatever answers, for it may do so at once.
    server.prependListener('request', answering);
  }
  const answers = () => [...connections.values()].flatMap((connection) => connection.answers);

  const isIdle = (connection: Connection) =>
    connection.answers.length === 0 && nowMs() - connection.idleSinceMs >= IDLE_MS;

  return {
    get count() {
      return connections.size;
    },
    underWay: () => answers().length,
    answered: () =>
      Promise.all(answers().map((answer) => new Promise((resolve) => answer.once('close', resolve)))),
    sayClose() {
      closing = true;
      answers().forEach(sayClose);
    },
    // Whoever was told to close comes back on a new connection: that there is none at the moment says nothing.
    isQuiet: () => [...connections.values()].every(isIdle) && nowMs() - heardMs >= IDLE_MS,
    closeIdle() {
      for (const [socket, connection] of connections) if (isIdle(connection)) socket.destroySoon();
    },
    arrivals: () => arrivals,
  };
}

/** Where its head is sent already, the next answer on its connection says so. */
function sayClose(answer: ServerResponse): void {
  if (!answer.headersSent) answer.setHeader('connection', 'close');
}
