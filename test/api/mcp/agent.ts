/** An assistant of a team: the protocol's own client, by whatever sends its requests. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import type { Call, TestGateway } from '../../support/start-gateway.js';

/** A result of a tool, as the gateway promises it. */
export interface Told {
  readonly isError: boolean;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>> & {
    readonly truncated?: boolean;
    readonly totalRows?: number;
    readonly next?: string | null;
    readonly columns?: readonly string[];
    readonly rows?: readonly (readonly unknown[])[];
    readonly code?: string;
    readonly help?: string;
  };
}

export interface Agent {
  readonly client: Client;
  call(name: string, args?: object): Promise<Told>;
}

/** Revisions in which a client may speak: by handshake, or with each message by itself. */
export type Era = 'legacy' | 'modern';

export async function connectAgent(
  url: string,
  key: string,
  { fetch, era = 'modern' }: { readonly fetch?: typeof globalThis.fetch; readonly era?: Era } = {},
): Promise<Agent> {
  const client = new Client(
    { name: 'tests', version: '1' },
    era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
  );
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
    ...(fetch === undefined ? {} : { fetch }),
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    client,
    async call(name, args = {}) {
      const result = await client.callTool({ name, arguments: { ...args } });
      const [content] = result.content as readonly { readonly type: string; readonly text: string }[];
      return {
        isError: result.isError === true,
        text: content?.text ?? '',
        body: result.structuredContent as Told['body'],
      };
    },
  };
}

/** The same without a socket. */
export function agentOf(gateway: TestGateway, key: string, era: Era = 'modern'): Promise<Agent> {
  return connectAgent('http://gateway.internal', key, { fetch: fetchOf(gateway), era });
}

function fetchOf(gateway: TestGateway): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input as string, init);
    const body = await request.text();
    const reply = await gateway.call(new URL(request.url).pathname, {
      method: request.method as NonNullable<Call['method']>,
      headers: Object.fromEntries(request.headers),
      ...(body === '' ? {} : { body }),
    });
    const headers = Object.entries(reply.headers).filter(
      (one): one is [string, string] => one[1] !== undefined,
    );
    return new Response(reply.status === 202 || reply.status === 204 ? null : new Uint8Array(reply.body), {
      status: reply.status,
      headers: headers.map(([name, value]): [string, string] => [name, String(value)]),
    });
  };
}
