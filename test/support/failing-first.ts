import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A gateway that fails with these statuses first, and then answers. Ended with the test. */
export async function failingFirst(statuses: number[], code = 'failed', retryAfter = '1') {
  const row = { date: '2026-10-01', impressions: 1, clicks: 1, spent: 1.5 };
  const server = createServer((request, response) => {
    const status = statuses.shift();
    const headers = { 'content-type': 'application/json', 'retry-after': retryAfter };
    if (status !== undefined)
      response.writeHead(status, headers).end(JSON.stringify({ code, detail: 'Failed.', help: 'Read.' }));
    else if (request.url?.includes('_format=ndjson')) response.end(`${JSON.stringify(row)}\n`);
    else response.writeHead(200, headers).end(JSON.stringify({ data: [row], meta: { rowCount: 1 } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, statuses };
}
