/** Messages as they come off the wire: those of 2026-07-28, those that lie, and those that are meant to harm. */

import fc from 'fast-check';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listenGateway } from '../../support/listen-gateway.js';
import { type Call, type Reply, type SimulatedGateway, startGateway } from '../../support/start-gateway.js';

let gateway: SimulatedGateway;
let key: string;

beforeAll(async () => {
  gateway = await startGateway({
    logLevel: 'info',
    config: { server: { corsOrigins: ['https://ui.example'] } },
  });
  key = await gateway.addTeam({ id: 'agents', scopes: ['report:read', 'mcp'], advertisers: [1] });
});
afterAll(() => gateway.close());

const PLAIN = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

function post(body: string | Buffer, headers: Call['headers'] = {}): Promise<Reply> {
  return gateway.call('/mcp', { method: 'POST', key, body, headers: { ...PLAIN, ...headers } });
}

/** A request of the revision without a handshake. */
function modern(method: string, params: object = {}, headers: Record<string, string> = {}): Promise<Reply> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'tests', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const message = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } };
  const own = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
  return post(JSON.stringify(message), { ...own, ...headers });
}

interface Called {
  readonly method: string;
  readonly params: { readonly name: string; readonly arguments: object };
}

const errorOf = (reply: Reply) => reply.json<{ error: { code: number } }>().error;

describe('the revision 2026-07-28', () => {
  it('is discovered', async () => {
    const reply = await modern('server/discover');
    expect(reply.status).toBe(200);
    expect(reply.json<{ result: object }>().result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
    });
  });

  it('refuses headers that name another method or tool than the message', async () => {
    const method = await modern('tools/list', {}, { 'mcp-method': 'tools/call' });
    const name = await modern('tools/call', { name: 'whoami' }, { 'mcp-name': 'query_report' });
    expect([method, name].map((reply) => [reply.status, errorOf(reply).code])).toEqual([
      [400, -32020],
      [400, -32020],
    ]);
  });

  it('has no method that it does not name, and no other revision', async () => {
    const unknown = await modern('tools/delete');
    expect([unknown.status, errorOf(unknown).code]).toEqual([404, -32601]);
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const older = await post(JSON.stringify(message), { 'mcp-protocol-version': '2024-11-05' });
    expect(older.status).toBe(400);
  });

  it('gives a tool that is not known as an error of the protocol', async () => {
    const reply = await modern('tools/call', { name: 'constructor' }, { 'mcp-name': 'constructor' });
    expect(errorOf(reply).code).toBe(-32602);
  });
});

describe('the revision 2025-11-25', () => {
  it('is offered to whoever begins with an older one', async () => {
    const params = {
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    const reply = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
    expect(reply.json<{ result: object }>().result).toMatchObject({ protocolVersion: '2025-11-25' });
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.headers['mcp-session-id']).toBeUndefined();
  });

  const OPENING = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  };

  it.each([
    ['initialize', undefined],
    ['initialize', {}],
    ['initialize', { ...OPENING, protocolVersion: 7 }],
    ['initialize', { ...OPENING, capabilities: [] }],
    ['initialize', { ...OPENING, clientInfo: { name: 't' } }],
    ['tools/list', { cursor: 7 }],
    ['tools/call', { name: 7 }],
  ])('calls wrong parameters of %s a fault of the caller (%j)', async (method, params) => {
    const reply = await post(JSON.stringify({ jsonrpc: '2.0', id: 'a', method, params }));
    expect(reply.json()).toMatchObject({ id: 'a', error: { code: -32602 } });
    expect(reply.text).toContain(`Invalid ${method} request`);
  });

  it.each([[[]], [7]])('is not begun by what is no request (%j)', async (params) => {
    const reply = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
    expect([reply.status, errorOf(reply).code]).toEqual([400, -32600]);
  });

  it('takes a notification without an answer', async () => {
    const reply = await post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    expect([reply.status, reply.text]).toEqual([202, '']);
  });
});

describe('a page in a browser', () => {
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

  it('is refused unless its origin is listed, or it is of the gateway itself', async () => {
    const from = async (origin: string, host = 'gateway:8080') => (await post(ping, { origin, host })).status;
    expect(await from('https://evil.example')).toBe(403);
    expect(await from('null')).toBe(403);
    expect(await from('http://evil.example', 'evil.example')).toBe(403);
    expect(await from('http://other:8080')).toBe(403);
    expect(await from('https://ui.example')).toBe(200);
    expect(await from('http://gateway:8080')).toBe(200);
    expect(await from('http://localhost:8080', 'localhost:8080')).toBe(200);
  });

  it('is refused before it is asked for a key', async () => {
    const reply = await gateway.call('/mcp', {
      method: 'POST',
      body: ping,
      headers: { ...PLAIN, origin: 'https://evil.example' },
    });
    expect(reply.json()).toMatchObject({ status: 403, code: 'origin_forbidden' });
  });
});

describe('a hostile message', () => {
  it.each([
    ['a list of messages', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, 'invalid_body'],
    ['a member twice', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', 400, 'invalid_body'],
    ['deep nesting', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, 400, 'invalid_body'],
    [
      'many members',
      JSON.stringify(Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [at, 1]))),
      400,
      'invalid_body',
    ],
    ['no JSON', '{', 400, 'invalid_body'],
    ['no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 400, 'invalid_body'],
    ['a huge body', `{"a":"${'x'.repeat(1_100_000)}"}`, 413, 'body_too_large'],
  ])('with %s is refused', async (_what, body, status, code) => {
    expect((await post(body)).json()).toMatchObject({ status, code });
  });

  it.each([
    ['another type', { 'content-type': 'text/plain' }, 415],
    ['a coding', { 'content-encoding': 'gzip' }, 415],
    ['nothing that it accepts', { accept: 'text/html' }, 406],
  ])('of %s is refused', async (_what, headers, status) => {
    expect((await post('{"jsonrpc":"2.0","id":1,"method":"ping"}', headers)).status).toBe(status);
  });

  it('of another method than POST is refused', async () => {
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD'] as const) {
      const reply = await gateway.call('/mcp', { method, key, headers: PLAIN });
      expect([reply.status, reply.headers.allow]).toEqual([405, 'POST']);
    }
  });

  it.each([
    ['2025-11-25', (call: Called) => post(JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }))],
    ['2026-07-28', ({ method, params }: Called) => modern(method, params, { 'mcp-name': params.name })],
  ])('cannot hide an argument from the tool by its name, in %s', async (_revision, send) => {
    const given = JSON.parse('{"__proto__":{"cursor":"x"}}') as object;
    const reply = await send({ method: 'tools/call', params: { name: 'whoami', arguments: given } });
    const { result } = reply.json<{ result: { structuredContent: object } }>();
    expect(result.structuredContent).toMatchObject({
      code: 'invalid_query',
      errors: [{ param: '__proto__' }],
    });
  });

  it('never brings it down, whatever it holds', async () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    const message = fc.record(
      {
        jsonrpc: fc.oneof(fc.constant('2.0'), value),
        id: fc.oneof(fc.integer(), value),
        method: fc.oneof(
          fc.constantFrom('tools/call', 'tools/list', 'initialize', 'ping', 'server/discover'),
          fc.string(),
        ),
        params: fc.oneof(
          value,
          fc.record({ name: fc.constantFrom('whoami', 'query_report', 'get_finality'), arguments: value }),
        ),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(message, async (given) => {
        const reply = await post(JSON.stringify(given));
        expect(reply.status).toBeLessThan(500);
        expect(reply.text).not.toContain('internal_error');
      }),
      { numRuns: 60 },
    );
  });
});

const ID = 7;
const ROUNDS = 10;
const QUESTION = {
  period: { from: '2026-11-01', to: '2026-11-03' },
  split: ['date'],
  columns: ['date', 'advertiserId', 'spent'],
};
const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'tests', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

it.each(['2025-11-25', '2026-07-28'])(
  'both teams get their own answers over sockets, by the revision %s',
  async (revision) => {
    const gateway = await startGateway();
    const url = await listenGateway(gateway);
    const teams = await Promise.all(
      [1, 2].map(async (advertiser) => {
        const id = `team-${advertiser}`;
        const scopes = ['report:read', 'mcp'];
        return { id, advertiser, key: await gateway.addTeam({ id, scopes, advertisers: [advertiser] }) };
      }),
    );
    const isModern = revision === '2026-07-28';
    const call = async (key: string, name: string, given: object) => {
      const params = { name, arguments: given, ...(isModern ? { _meta: MODERN } : {}) };
      const { statusCode, body } = await request(`${url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': revision,
          ...(isModern ? { 'mcp-method': 'tools/call', 'mcp-name': name } : {}),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: ID, method: 'tools/call', params }),
      });
      expect(statusCode).toBe(200);
      const { id, result } = (await body.json()) as {
        readonly id: unknown;
        readonly result: { readonly structuredContent: Readonly<Record<string, unknown>> };
      };
      expect(id).toBe(ID);
      return result.structuredContent;
    };
    const expected = await Promise.all(
      teams.map(({ key, advertiser }) =>
        call(key, 'query_report', { ...QUESTION, advertiserId: advertiser }),
      ),
    );
    expect(expected[0]?.rows).not.toEqual(expected[1]?.rows);
    await Promise.all(
      Array.from({ length: ROUNDS }, () => teams)
        .flat()
        .flatMap(({ key, id, advertiser }, at) => [
          call(key, 'whoami', {}).then((told) => expect(told).toMatchObject({ team: { id } })),
          call(key, 'query_report', { ...QUESTION, advertiserId: advertiser }).then((told) =>
            expect(told.rows).toEqual(expected[at % 2]?.rows),
          ),
          // Of the other team's advertiser: refused, and never answered by what that team is told.
          call(key, 'query_report', { ...QUESTION, advertiserId: 3 - advertiser }).then((told) =>
            expect(told.code).toBe('advertiser_forbidden'),
          ),
        ]),
    );
  },
);
