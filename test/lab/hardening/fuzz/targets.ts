/** What is given inputs that are nearly right. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig } from '../../../../src/config/load.js';
import type { Chance } from '../../../simulation/chance-of-seed.js';
import { ROOT } from '../../../support/processes.js';
import {
  ADMIN_TOKEN,
  REPORT,
  type Reply,
  startGateway,
  type TestGateway,
} from '../../../support/start-gateway.js';
import { wrongWith } from './answers.js';
import { entries } from './entries.js';
import { mutated } from './mutate.js';
import { longAnswers, platformAnswers } from './platform-answers.js';
import { registry } from './registry.js';
import { adminSockets, sockets } from './sockets.js';
import { said, type Target } from './target.js';

const QUERIES = [
  `${REPORT}?advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07`,
  `${REPORT}?advertiserId=1&byCampaign=1&_period=last_7_days&_fields=spent,clicks&_sort=-spent`,
  `${REPORT}?advertiserId=1&byDate=1&_period=yesterday&_totals=1&_asOf=2026-11-20&_format=ndjson`,
  '/gateway/v1/series?range=24h',
  '/gateway/v1/diff?endpoint=campaigns/get&query=advertiserId%3D1%26byDate%3D1',
  '/gateway/v1/advertisers?search=a&limit=10',
  '/api/v1/campaign/7?userId=1',
  '/docs/errors/invalid_query',
];
const BODIES = [
  'POST /admin/v1/teams {"id":"new","scopes":["report:read"],"advertisers":[1,2],"limits":{"maxConcurrent":5}}',
  'PATCH /admin/v1/teams/team-1 {"name":"x","advertisers":"*","ipAllow":["10.0.0.0/8"],"disabled":false}',
  'PATCH /admin/v1/teams/team-1 {"writeGuard":{"POST /api/v1/x":{"budget":{"field":"body.a","maxPerDay":5}}}}',
  'POST /admin/v1/cache/purge {"advertiserId":1,"endpoint":"campaigns/get","from":"2026-11-01","dryRun":true}',
  'POST /admin/v1/writes/settle {"id":"x","outcome":"not"}',
];
const MESSAGES = [
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_report","arguments":{"advertiserId":1,"period":{"relative":"last_7_days"},"split":["date"]}}}',
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_report","arguments":{"cursor":"abc"}}}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
];

/** @param tryOne @returns what was given, and what is wrong with the answer */
const onGateway =
  (
    name: string,
    what: string,
    tryOne: (gateway: TestGateway, key: string, chance: Chance) => Promise<readonly [string, string | null]>,
  ) =>
  async (): Promise<Target> => {
    const gateway = await startGateway({ logLevel: 'error' });
    const key = await gateway.addTeam({ scopes: ['report:read', 'mcp'], advertisers: [1] });
    return {
      name,
      what,
      close: () => gateway.close(),
      tryOne: async (chance) => said(...(await tryOne(gateway, key, chance))),
    };
  };

const queries = onGateway(
  'Targets of the data plane',
  'Paths and queries that are nearly right, with a key of a team that may see one advertiser.',
  async (gateway, key, chance) => {
    // What Node itself would not take from a socket is no target, and what calls without a socket reads `//` as a host.
    const text = mutated(chance.pick(QUERIES), chance).replace(/^[\\/]*/, '/');
    const target = text.replace(/[^\x21-\x7e]/g, percentEncoded);
    return [target, wrongWith(await gateway.call(target, { key }))];
  },
);

/** Lone surrogates have no bytes. */
const percentEncoded = (letter: string) =>
  [...Buffer.from(letter)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

const bodies = onGateway(
  'Bodies of the admin plane',
  'JSON that is nearly right, with the admin token.',
  async ({ admin }, _, chance) => {
    const [, method, url, body = ''] = /^(\w+) (\S+) (.*)$/.exec(chance.pick(BODIES)) ?? [];
    const payload = mutated(body, chance);
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' };
    const answer = await admin.inject({ method: method as 'POST', url: url ?? '', headers, payload });
    const reply = { status: answer.statusCode, headers: answer.headers, text: answer.payload };
    return [`${method} ${url} ${payload}`, wrongWith(reply as unknown as Reply)];
  },
);

const messages = onGateway(
  'Messages of MCP',
  'JSON-RPC that is nearly right; an answer of the protocol, or a problem.',
  async (gateway, key, chance) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const body = mutated(chance.pick(MESSAGES), chance);
    const reply = await gateway.call('/mcp', { method: 'POST', key, body, headers });
    const isOfProtocol = reply.text.includes('"jsonrpc":"2.0"') && reply.status < 500;
    return [body, isOfProtocol ? null : wrongWith(reply)];
  },
);

async function settings(): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-fuzz-'));
  const path = join(folder, 'gateway.yaml');
  const whole = await readFile(join(ROOT, 'config/default.yaml'), 'utf8');
  const lines = whole.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('#'));
  const env = { GATEWAY_CONFIG: path, GATEWAY_DATA_DIR: folder, PLATFORM_BASE_URL: 'http://127.0.0.1:9' };
  return {
    name: 'Settings',
    what: 'The defaults with a few changes, read as a start reads them: settings, or faults that name what is wrong.',
    async tryOne(chance) {
      const from = chance.below(lines.length);
      const text = mutated(lines.slice(from, from + chance.between(1, 40)).join('\n'), chance);
      await writeFile(path, text);
      try {
        loadConfig({ ...env, PLATFORM_TOKEN: '42|a-platform-token' });
        return null;
      } catch (error) {
        return error instanceof ConfigError ? null : said(text, `threw ${error}`);
      }
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

export const TARGETS: readonly (() => Promise<Target>)[] = [
  sockets,
  adminSockets,
  queries,
  bodies,
  platformAnswers,
  longAnswers,
  messages,
  settings,
  entries,
  registry,
];
