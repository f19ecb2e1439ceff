/** Callers that hold what they have and give little: idle connections, and requests byte by byte. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** Of connections, opened at once. */
const BATCH = 200;

export interface Held {
  /** Those that are open. */
  open(): number;
  close(): void;
}

/**
 * Opens connections that each ask one thing, and then stay.
 * @throws when one is refused
 */
export async function holdIdle(url: string, count: number): Promise<Held> {
  const sockets: Socket[] = [];
  for (let at = 0; at < count; at += BATCH)
    await Promise.all(
      Array.from({ length: Math.min(BATCH, count - at) }, async () => {
        const socket = dial(url);
        sockets.push(socket);
        await once(socket, 'connect');
        socket.write('GET /healthz HTTP/1.1\r\nhost: gateway\r\n\r\n');
        await once(socket, 'data');
      }),
    );
  return heldOf(sockets);
}

/**
 * Opens connections, sends a beginning over each, and then a byte each time.
 * @returns how many were open when time was up, and the longest time one was kept, milliseconds
 */
export async function dripRequests(
  url: string,
  options: {
    readonly count: number;
    readonly begin: string;
    readonly byte: string;
    readonly longestMs: number;
  },
): Promise<{ readonly left: number; readonly longestMs: number; readonly said: ReadonlySet<string> }> {
  const said = new Set<string>();
  const startedMs = performance.now();
  let longestMs = 0;
  const sockets = Array.from({ length: options.count }, () => {
    const socket = dial(url);
    socket
      .once('connect', () => socket.write(options.begin))
      .on('data', (text) => said.add(String(text).slice(9, 12)))
      .once('close', () => {
        longestMs = Math.max(longestMs, performance.now() - startedMs);
      });
    return socket;
  });
  const held = heldOf(sockets);
  for (let atMs = 0; atMs < options.longestMs && held.open() > 0; atMs += 250) {
    await pause(250);
    for (const socket of sockets) if (socket.writable) socket.write(options.byte);
  }
  const left = held.open();
  held.close();
  return { left, longestMs, said };
}

function dial(url: string): Socket {
  const { hostname, port } = new URL(url);
  // What closes them is looked at, not how.
  return connect({ host: hostname, port: Number(port), noDelay: true }).on('error', () => {});
}

function heldOf(sockets: readonly Socket[]): Held {
  return {
    open: () => sockets.filter(({ closed }) => !closed).length,
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Open files that this process may have, by what it was started with. */
export function filesAllowed(): number {
  const report = process.report.getReport() as unknown as {
    userLimits?: { open_files?: { soft?: number | string } };
  };
  const soft = report.userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Number.MAX_SAFE_INTEGER;
}
