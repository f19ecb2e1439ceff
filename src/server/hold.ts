/** What answers on the data port while the store is waited for: alive, and not ready. */
import { createServer } from 'node:http';
import type { Readiness } from '../api/data/health.js';
import { GatewayError, PROBLEM_TYPE, toProblem } from '../errors.js';
import { randomId } from '../lib/chance.js';

/** Who waits hears of no other process. */
const CONDITIONS = { store: 'waiting for Redis', credential: 'unknown', platform: 'unknown' };
const WAITING: Readiness = { ready: false, ...CONDITIONS, worst: CONDITIONS };

/** @returns a function that lets go of the port */
export async function holdPort(host: string, port: number): Promise<() => Promise<void>> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    const answer = (status: number, type: string, body: object) => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', connection: 'close' });
      response.end(JSON.stringify(body));
    };
    if (path === '/healthz') return answer(200, 'application/json', { status: 'ok' });
    if (path === '/readyz') return answer(503, 'application/json', WAITING);
    const problem = toProblem(new GatewayError('not_ready'), randomId());
    response.setHeader('retry-after', '5');
    return answer(503, PROBLEM_TYPE, problem);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
}
