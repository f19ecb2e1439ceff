/** Contract: the running program speaks the protocol, as its own tests and its own client have it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { connectAgent } from '../api/mcp/agent.js';
import { newTeam } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { tempFolder } from '../support/processes.js';

const CONFORMANCE = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
);
const WEEK = { from: '2026-11-01', to: '2026-11-07' };

let gateway: OpenGateway['gateway'];
let key: string;

beforeAll(async () => {
  ({ gateway } = await openGateway());
  key = (await newTeam(gateway, { id: 'agents', scopes: ['report:read', 'mcp'], advertisers: [1] })).key;
});

/** The protocol's own tests send no key: here it is put in on the way. @returns the address to test */
async function withKey(): Promise<string> {
  const server = createServer((incoming, response) => {
    const { method, url, headers } = incoming;
    const authorization = `Bearer ${key}`;
    const onward = send(
      `${gateway.data}${url}`,
      { method, headers: { ...headers, authorization } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}/mcp`;
}

it.each(['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'])(
  "holds to the protocol's own test %s",
  async (scenario) => {
    const args = [CONFORMANCE, 'server', '--url', await withKey(), '--scenario', scenario];
    const child = spawn(process.execPath, args, {
      cwd: await tempFolder(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += String(text)));
    const [code] = (await once(child, 'close')) as [number];
    expect(said).toMatch(/Passed: [1-9]/);
    expect([code, said.match(/, (\d+) failed/)?.[1] ?? '0']).toEqual([0, '0']);
  },
);

it.each(['legacy', 'modern'] as const)('serves its client by the %s revision', async (era) => {
  const { client, call } = await connectAgent(gateway.data, key, { era });
  expect(client.getServerVersion()?.name).toBe('dsp-gateway');
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    ...['whoami', 'describe_reports', 'query_report', 'explain_query', 'compare_as_of'],
    ...['list_changes', 'get_finality', 'get_usage'],
  ]);
  const { body } = await call('query_report', { advertiserId: 1, period: WEEK, split: ['date'] });
  expect(body).toMatchObject({ truncated: false, totalRows: 7, next: null });
});
