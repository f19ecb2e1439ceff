/** Callers that hold a connection and ask no more. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

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
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  for (let at = 0; at < count; at += BATCH)
    await Promise.all(
      Array.from({ length: Math.min(BATCH, count - at) }, async () => {
        // What closes them is looked at, not how.
        const socket = connect({ host: hostname, port: Number(port), noDelay: true }).on('error', () => {});
        sockets.push(socket);
        await once(socket, 'connect');
        socket.write('GET /healthz HTTP/1.1\r\nhost: gateway\r\n\r\n');
        await once(socket, 'data');
      }),
    );
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
