/** The connections of the servers of a process: which are open, and what is under way on them. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A caller that has not asked for so long is not between two requests. */
const IDLE_MS = 1000;

export interface Connections {
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
export function watchConnections(servers: readonly Server[], nowMs: () => number): Connections {
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
