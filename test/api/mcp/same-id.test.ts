/** Ids of JSON-RPC are chosen by each assistant for itself: two teams use the same one at the same time. */
import { request } from 'undici';
import { expect, it } from 'vitest';
import { listenGateway } from '../../support/listen-gateway.js';
import { startGateway } from '../../support/start-gateway.js';

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
          ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          ...{ accept: 'application/json, text/event-stream', 'mcp-protocol-version': revision },
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
