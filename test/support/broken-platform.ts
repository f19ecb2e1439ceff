/** Platforms that a test writes itself, on real sockets, to misbehave as no simulator does. Closed with the test. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  body: string;
}

export interface HttpPlatform {
  readonly url: URL;
  /** Every request whose head arrived, oldest first. */
  readonly seen: readonly SeenRequest[];
  /** Connections open now. */
  readonly connections: ReadonlySet<Socket>;
}

/** An HTTP server on the loopback. */
export async function startHttpPlatform(answer: RequestListener): Promise<HttpPlatform> {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers, rawHeaders } = request;
    const noted: SeenRequest = { method, url, headers, rawHeaders, body: '' };
    seen.push(noted);
    request.setEncoding('utf8').on('data', (text: string) => {
      noted.body += text;
    });
    answer(request, response);
  });
  server.keepAliveTimeout = 60_000;
  const connections = track(server);
  return { url: new URL(`http://127.0.0.1:${await listen(server, connections)}`), seen, connections };
}

/** A TCP server on the loopback: `serve` gets each connection. */
export async function startTcpPlatform(
  serve: (socket: Socket) => void,
): Promise<Pick<HttpPlatform, 'url' | 'connections'>> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    serve(socket);
  });
  const connections = track(server);
  return { url: new URL(`http://127.0.0.1:${await listen(server, connections)}`), connections };
}

/** An address on which nobody listens. */
export async function deadUrl(): Promise<URL> {
  const server = createTcpServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return new URL(`http://127.0.0.1:${port}`);
}

function track(server: Server): Set<Socket> {
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  return connections;
}

async function listen(server: Server, connections: ReadonlySet<Socket>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of connections) socket.destroy();
    await closed;
  });
  return (server.address() as AddressInfo).port;
}
