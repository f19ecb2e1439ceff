/** The documents themselves: ids, what all operations share, a linter’s rules, and that the check of answers can fail. */

import { createConfig, lintFromString } from '@redocly/openapi-core';
import { fastify } from 'fastify';
import Type from 'typebox';
import Schema from 'typebox/schema';
import { beforeAll, describe, expect, it } from 'vitest';
import { json, shownToTeams } from '../../../src/api/openapi/operation.js';
import { TEAM_PREFIX } from '../../../src/teams/auth/directory.js';
import { sends, startRawPlatform } from '../../support/raw-platform.js';
import { gatewayAt, REPORT, startGateway, withGateway } from '../../support/start-gateway.js';
import { Description, type Document, type Exchange } from './document.js';

type Plane = 'data' | 'admin';

/** As they are told by a gateway with the test clock's route; each is asked for once. */
const documents = new Map<string, Promise<Document>>();
function documentOf(plane: Plane, config = {}): Promise<Document> {
  const name = `${plane} ${JSON.stringify(config)}`;
  const known = documents.get(name);
  if (known !== undefined) return known;
  const read = async () => {
    const gateway = await startGateway({ config: { testClock: true, ...config } });
    const document = (await gateway[plane].inject('/openapi.json')).json<Document>();
    await gateway.close();
    return document;
  };
  documents.set(name, read());
  return documentOf(plane, config);
}

const describedPlane = async (plane: Plane, config = {}) => new Description(await documentOf(plane, config));

/** Codes that the document lists for an answer. */
function codesOf(description: Description, method: string, target: string, status: string): unknown {
  const answer = description.answerOf(description.operationOf({ method, target }), status);
  const schema = answer?.content?.['application/problem+json']?.schema as
    | { allOf: readonly { properties?: { code?: { enum: unknown } } }[] }
    | undefined;
  return schema?.allOf[1]?.properties?.code?.enum;
}

it('the document of the data plane has the currency that is set for a report', async () => {
  const config = { report: { endpoints: { 'campaigns/get': { currency: 'EUR' }, 'sites/get': {} } } };
  const { paths } = await documentOf('data', config);
  const currencyOf = (path: string) =>
    (paths[`/api/v1/report/${path}`]?.get as { 'x-currency'?: string } | undefined)?.['x-currency'];
  expect(['campaigns/get', 'sites/get'].map(currencyOf)).toEqual(['EUR', undefined]);
});

it('a report has its parameters in the order of a reader, each with an example, and those filled in make a call', async () => {
  const gateway = await withGateway();
  const { paths } = (await gateway.data.inject('/openapi.json')).json<Document>();
  const { parameters = [] } = (paths['/api/v1/report/campaigns/get']?.get ?? {}) as {
    parameters?: readonly {
      name: string;
      in: string;
      required: boolean;
      example?: unknown;
      schema: { examples?: unknown[] };
    }[];
  };
  const query = parameters.filter((one) => one.in === 'query');
  expect(query.map(({ name }) => name).slice(0, 9)).toEqual([
    ...['advertiserId', 'userId', '_period', 'dateFrom', 'dateTo', 'byDate', 'byCampaign', 'campaignIds[]'],
    'spentBased',
  ]);
  expect(query.filter(({ required, schema }) => required || schema.examples === undefined)).toEqual([]);
  const filledIn = query.flatMap(({ name, example }) =>
    example === undefined ? [] : [[name, String(example)]],
  );
  const reply = await gateway.report(await gateway.addTeam(), String(new URLSearchParams(filledIn)));
  expect(reply.json<{ data: object[] }>().data).toHaveLength(7);
});

it.each<[Plane, number, string]>([
  ['data', 3, 'one of three ways'],
  ['admin', 2, 'one of two ways'],
])(
  'the document of the %s plane says that a request is authorized in one of %i ways',
  async (plane, count, says) => {
    const { info, components } = (await documentOf(plane)) as unknown as {
      info: { description: string };
      components: { securitySchemes: object };
    };
    expect(info.description).toContain(says);
    expect(Object.keys(components.securitySchemes)).toHaveLength(count);
  },
);

it('the document of the data plane says what spentBased chooses, and which values are known', async () => {
  const { paths } = await documentOf('data');
  const { parameters = [] } = (paths['/api/v1/report/campaigns/get']?.get ?? {}) as {
    parameters?: readonly { readonly name?: string; readonly description?: string }[];
  };
  expect(parameters.find(({ name }) => name === 'spentBased')).toMatchObject({
    schema: { type: 'string' },
    description: expect.stringMatching(/^Currency of spend: .* usd .* and local\.$/),
  });
});

describe.each(['data', 'admin'] as const)('the document of the %s plane', (plane) => {
  it('gives each operation an id of its own, a tag that is explained, and problems', async () => {
    const description = await describedPlane(plane);
    const operations = description.operations();
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(10);
    const { tags, servers } = description.document;
    for (const { call, operation } of operations) {
      expect([call, tags.map(({ name }) => name)]).toEqual([
        call,
        expect.arrayContaining([...operation.tags]),
      ]);
      const statuses = Object.keys(operation.responses);
      expect([call, statuses]).toEqual([call, expect.arrayContaining(['400', '500', 'default'])]);
      expect([call, statuses.some((status) => /^2/.test(status))]).toEqual([call, true]);
    }
    expect(servers).toEqual([{ url: '/', description: 'This gateway.' }]);
  });

  it('has for each problem an example of its own status', async () => {
    const { document } = await describedPlane(plane);
    const { responses } = document.components as unknown as {
      responses: Record<
        string,
        { content?: Record<string, { schema: { examples?: { status: number }[] } }> }
      >;
    };
    const statuses = Object.entries(responses).flatMap(([name, { content }]) =>
      /^\d{3}\./.test(name)
        ? [[name.slice(0, 3), String(content?.['application/problem+json']?.schema.examples?.[0]?.status)]]
        : [],
    );
    expect(statuses.length).toBeGreaterThan(10);
    expect(statuses.filter(([status, shown]) => status !== shown)).toEqual([]);
  });

  it('has examples that its own schemas accept, of problems and of what callers send and get', async () => {
    const { document } = await describedPlane(plane);
    const found: string[] = [];
    const look = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { examples } = value as { examples?: unknown };
      if (Array.isArray(examples)) {
        const schema = Schema.Compile({ ...value, components: document.components } as object);
        for (const example of examples) expect([path, schema.Check(example)]).toEqual([path, true]);
        found.push(path.replace('/components/schemas', ''));
      }
      for (const [name, member] of Object.entries(value))
        if (name !== 'examples') look(member, `${path}/${name}`);
    };
    look(document, '');
    const wanted = { data: ['/Problem', '/Report'], admin: ['/Problem', '/NewTeam/properties/id'] };
    expect(found).toEqual(expect.arrayContaining(wanted[plane]));
  });

  it('says once that HEAD answers as GET, and lists no HEAD beside a GET', async () => {
    const { document } = await describedPlane(plane);
    expect(document.info.description).toMatch(/ HEAD answers as GET, without a body\.$/);
    for (const [path, { head }] of Object.entries(document.paths))
      expect([path, head]).toEqual([path, undefined]);
  });
});

describe('the codes of a problem', () => {
  it('are those that the operation can give with this status', async () => {
    const data = await describedPlane('data');
    expect(codesOf(data, 'GET', REPORT, '504')).toEqual(['not_cached', 'upstream_timeout']);
    expect(codesOf(data, 'GET', REPORT, '4XX')).toEqual(['upstream_rejected']);
    expect(codesOf(data, 'POST', '/api/v1/campaign/create', '409')).toEqual(['idempotency_in_flight']);
    const admin = await describedPlane('admin');
    expect(codesOf(admin, 'POST', '/admin/v1/teams', '422')).toEqual(['invalid_body']);
    expect(codesOf(admin, 'POST', '/admin/v1/teams', '403')).toEqual(['forbidden', 'session_forbidden']);
    expect(codesOf(admin, 'GET', '/admin/v1/teams', '403')).toEqual(['session_forbidden']);
  });
});

it('a report has a summary in words, made from its path', async () => {
  const endpoints = { 'campaigns/get': { readByPost: true }, 'sites/by-hour': {} };
  const { paths } = await documentOf('data', { report: { endpoints } });
  const { get, post } = paths[REPORT] ?? {};
  expect(get?.summary).toBe('Campaigns report: figures of an advertiser in a period');
  expect(post?.summary).toBe('Campaigns report by a JSON body: figures of an advertiser in a period');
  expect(paths['/api/v1/report/sites/by-hour']?.get?.summary).toMatch(/^Sites by hour report: /);
});

describe('routes that the configuration declares', () => {
  it('are listed as HEAD, without bodies, if they are declared for HEAD alone', async () => {
    const both = ['GET', 'HEAD'].map((method) => ({ method, path: '/api/v1/both/*' }));
    const routes = [...both, { method: 'HEAD', path: '/api/v1/alone/*' }];
    const { paths } = await documentOf('data', { routes });
    expect(Object.keys(paths['/api/v1/both/{segment}'] ?? {})).toEqual(['get']);
    const { head } = paths['/api/v1/alone/{segment}'] ?? {};
    expect(Object.keys(head?.responses ?? {})).toContain('2XX');
    expect(JSON.stringify(head?.responses)).not.toContain('"content"');
  });

  it('keep ids of their own where their paths differ by a sign alone', async () => {
    const routes = ['/api/v1/a.b/*', '/api/v1/a/b/*'].map((path) => ({ method: 'GET', path }));
    const data = await describedPlane('data', { routes });
    const ids = data.operations().map(({ operation }) => operation.operationId);
    expect(ids).toEqual(expect.arrayContaining(['getABSegment', 'getABSegment2']));
  });
});

describe('an answer that is not as described', () => {
  let data: Description;
  beforeAll(async () => {
    data = await describedPlane('data');
  });
  const ANSWERED: Exchange = {
    method: 'GET',
    target: '/healthz',
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'x' },
    text: '{"status":"ok","version":"0.1.0"}',
  };

  it.each<[string, Partial<Exchange>, RegExp]>([
    ['a member more', { text: '{"status":"ok","version":"0.1.0","more":1}' }, /additional properties/],
    ['a member less', { text: '{}' }, /required/],
    ['another value', { text: '{"status":"well"}' }, /constant/],
    ['another status', { status: 201 }, /no answer 201/],
    ['another type', { headers: { 'content-type': 'text/html' } }, /text\/html is not described/],
    ['a header more', { headers: { ...ANSWERED.headers, age: '1' } }, /header age/],
    ['another call', { method: 'PUT' }, /no operation/],
    ['a problem with another code', { status: 400, ...problem('not_found', 400) }, /equal|allowed|enum/],
    [
      'a problem with a member more',
      { status: 400, ...problem('invalid_path', 400, { x: 1 }) },
      /unevaluated/,
    ],
  ])('is found: %s', (_what, change, fault) => {
    expect(data.faultsOf(ANSWERED)).toEqual([]);
    expect(data.faultsOf({ ...ANSWERED, status: 400, ...problem('invalid_path', 400) })).toEqual([]);
    expect(data.faultsOf({ ...ANSWERED, ...change }).join('\n')).toMatch(fault);
  });
});

function problem(code: string, status: number, more: object = {}): Pick<Exchange, 'headers' | 'text'> {
  const told = { type: 'x', title: 'x', status, detail: 'x', help: 'x', code, requestId: 'x', ...more };
  return { headers: { 'content-type': 'application/problem+json' }, text: JSON.stringify(told) };
}

/** @returns `rule: what is wrong` */
async function faultsOf(document: unknown): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const found = await lintFromString({ source: JSON.stringify(document), config });
  return found.map(({ ruleId, message }) => `${ruleId}: ${message}`);
}

it.each(['data', 'admin'] as const)('the document of the %s plane passes', async (plane) => {
  const document = await documentOf(plane);
  expect(Object.keys(document.paths).length).toBeGreaterThan(5);
  expect(await faultsOf(document)).toEqual([]);
});

it('a fault would be found', async () => {
  const document = await documentOf('data');
  const get = document.paths['/healthz']?.get;
  const planted = {
    ...document,
    servers: [],
    paths: {
      ...document.paths,
      '/healthz': { get: { ...get, operationId: 'getMe', responses: { 200: { content: {} } } } },
      '/thing/{id}': { get: { ...get, operationId: 'getThing' } },
    },
  };
  const rules = (await faultsOf(planted)).map((fault) => fault.split(':', 1)[0]);
  expect(rules).toEqual(
    expect.arrayContaining([
      'no-empty-servers',
      'operation-operationId-unique',
      'path-parameters-defined',
      'struct',
    ]),
  );
});

it('leave members that they do not name in the answer', async () => {
  const app = fastify();
  const Thing = Type.Object({ known: Type.Integer() }, { additionalProperties: false });
  app.get(
    '/thing',
    shownToTeams('things', 'A thing', { id: 'getThing', answers: { 200: json(Thing) } }),
    () => Promise.resolve({ known: 1, unknown: { deep: [true] } }),
  );
  expect((await app.inject('/thing')).json()).toEqual({ known: 1, unknown: { deep: [true] } });
});

it('leave what a newer release has written of a team', async () => {
  const gateway = await withGateway();
  await gateway.manage('POST', '/teams', { id: 'a' });
  const { registry } = gateway.services;
  const id = `${TEAM_PREFIX}a`;
  const team = { ...JSON.parse(registry.get(id)?.value ?? ''), colour: 'blue' };
  await registry.commit({ writes: new Map([[id, JSON.stringify(team)]]), audit: [] });
  expect(await gateway.manage('GET', '/teams/a')).toMatchObject({ id: 'a', colour: 'blue' });
});

it('leave members of rows and of their objects that nobody described', async () => {
  const row = '{"impressions":1,"novel":{"deep":[1,{"x":null}]}}';
  const platform = await startRawPlatform(sends(`{"data":[${row}],"status":"ok"}`));
  const gateway = await gatewayAt(platform);
  const query = 'advertiserId=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-01';
  const reply = await gateway.report(await gateway.addTeam(), query);
  expect(reply.json().data).toEqual([JSON.parse(row)]);
});
