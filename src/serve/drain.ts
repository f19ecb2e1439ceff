/**
 * How a process goes out of service without losing a request: from the signal on every answer says `connection: close`,
 * so that callers go elsewhere of themselves; the port stays open until what was under way has ended and nobody asks
 * any more; and a connection is closed only when it has been idle for a while, for one that is closed while a request
 * is on its way resets under it.
 */
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { sleep, turn, uptimeMs } from '../time.js';
import { type Connections, watchConnections } from './connections.js';

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
