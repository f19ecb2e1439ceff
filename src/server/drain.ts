/**
 * Graceful stop without a lost request. After the signal every response has `connection: close`. The port stays open until
 * running requests have ended and no new ones come. A connection is closed only after being idle, as closing it while a
 * request is in transit would reset it.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { sleep, turn, uptimeMs } from '../lib/time.js';

/** Maximum time of accepting connections after running requests have ended. */
const LISTEN_MS = 5000;
/** Part of the drain time after which no connections are accepted. */
const LISTEN_PART = 0.8;
const LOOK_MS = 25;
/** Maximum turns of the event loop to wait for an empty backlog. */
const MOST_TURNS = 10_000;

export type Drain = ReturnType<typeof createDrain>;

/**
 * @param servers before their first connection
 * @param nowMs monotonic milliseconds
 */
export function createDrain(servers: readonly Server[], nowMs = uptimeMs) {
  const connections = watchConnections(servers, nowMs);
  return {
    /** Number of running requests. */
    running: connections.running,
    /**
     * Resolves when all connections are closed and no new ones are accepted.
     * @param withinMs time limit, after which the caller closes the rest
     */
    async start(withinMs: number): Promise<void> {
      const startedMs = nowMs();
      const past = (ms: number) => nowMs() - startedMs >= ms;
      connections.announceClose();
      await Promise.race([connections.answered(), sleep(withinMs * LISTEN_PART, { ref: false })]);
      while (!connections.isQuiet() && !past(Math.min(LISTEN_MS, withinMs * LISTEN_PART)))
        await sleep(LOOK_MS);
      await stopListening(servers, connections);
      while (connections.count > 0) {
        connections.closeIdle();
        // Keeps the process alive until it has stopped.
        await sleep(LOOK_MS);
      }
    },
  };
}

async function stopListening(servers: readonly Server[], connections: Connections): Promise<void> {
  for (const server of servers) {
    await emptyBacklog(connections);
    // Not `close` of the HTTP server, which also closes idle connections with a request in transit.
    if (server.listening) NetServer.prototype.close.call(server);
  }
}

/**
 * Waits for an empty backlog, as closing the server resets waiting connections. It is empty after a turn of the event loop
 * without arrivals.
 */
async function emptyBacklog({ arrivals }: Connections): Promise<void> {
  for (let turns = 0, before = -1; before !== arrivals() && turns < MOST_TURNS; turns++) {
    before = arrivals();
    await turn();
  }
}

/** A connection idle for this long is not between two requests. */
const IDLE_MS = 1000;

interface Connection {
  /**
   * Open responses; several with pipelining. Not a Set, whose rehashed tables would delay garbage collection of ended
   * responses.
   */
  readonly answers: ServerResponse[];
  /** When the last response ended or the connection opened, milliseconds. */
  idleSinceMs: number;
}

type Connections = ReturnType<typeof watchConnections>;

function watchConnections(servers: readonly Server[], nowMs: () => number) {
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
    if (closing) announceClose(response);
    response.on('close', ended);
  }

  /** One function for all responses: a closure of each would cost more than the rest. */
  function ended(this: ServerResponse): void {
    const connection = connections.get(this.req.socket);
    if (connection === undefined) return;
    connection.answers.splice(connection.answers.indexOf(this), 1);
    connection.idleSinceMs = nowMs();
  }

  for (const server of servers) {
    server.on('connection', arrived);
    // Before other listeners, which may respond synchronously.
    server.prependListener('request', answering);
  }
  const answers = () => [...connections.values()].flatMap((connection) => connection.answers);

  const isIdle = (connection: Connection) =>
    connection.answers.length === 0 && nowMs() - connection.idleSinceMs >= IDLE_MS;

  return {
    get count() {
      return connections.size;
    },
    /** Running requests, including unread responses. */
    running: () => answers().length,
    /** Resolves when the current responses have ended. */
    answered: () =>
      Promise.all(answers().map((answer) => new Promise((resolve) => answer.once('close', resolve)))),
    /** Sets `connection: close` on all current and later responses. */
    announceClose() {
      closing = true;
      answers().forEach(announceClose);
    },
    // Callers return on new connections, so the absence of connections is not enough.
    isQuiet: () => [...connections.values()].every(isIdle) && nowMs() - heardMs >= IDLE_MS,
    closeIdle() {
      for (const [socket, connection] of connections) if (isIdle(connection)) socket.destroySoon();
    },
    /** Number of connections and requests so far. */
    arrivals: () => arrivals,
  };
}

/** If the headers are sent already, the next response on the connection has it. */
function announceClose(answer: ServerResponse): void {
  if (!answer.headersSent) answer.setHeader('connection', 'close');
}
