/** The interface described: OpenAPI 3.1 checked by hand, the page that shows it, and its assets. */
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, REPORT } from '../support/ask.js';
import { type Gateway, startGateway } from '../support/processes.js';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ PLATFORM_BASE_URL: 'http://127.0.0.1:9' });
});

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type JsonObject = { [name: string]: Json };

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

interface Operation {
  readonly path: string;
  readonly method: string;
  readonly operation: JsonObject;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function operationsOf(document: JsonObject): Operation[] {
  return Object.entries(document.paths as { [path: string]: JsonObject }).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]) => ({ path, method, operation: operation as JsonObject })),
  );
}

/** What the OpenAPI 3.1.0 specification asks of a document, as far as this one uses it (sections 4.8 and 4.7.1). */
function faultsOf(document: JsonObject): string[] {
  const faults: string[] = [];
  const ask = (holds: boolean, what: string) => {
    if (!holds) faults.push(what);
  };
  ask(/^3\.1\.\d+$/.test(String(document.openapi)), 'openapi is 3.1');
  const { info } = document;
  ask(isObject(info) && typeof info.title === 'string' && typeof info.version === 'string', 'info');
  ask(isObject(document.paths), 'paths');
  const schemes = (document.components as { securitySchemes?: JsonObject }).securitySchemes ?? {};
  for (const { path, method, operation } of operationsOf(document)) {
    const at = `${method} ${path}`;
    const parameters = (operation.parameters ?? []) as JsonObject[];
    const names = parameters.map(({ in: place, name }) => `${String(place)} ${String(name)}`);
    ask(new Set(names).size === names.length, `${at}: every parameter once`);
    for (const parameter of parameters) {
      const { name, in: place, schema, content, required } = parameter;
      ask(typeof name === 'string', `${at}: a parameter's name`);
      ask(
        ['query', 'header', 'path', 'cookie'].includes(String(place)),
        `${at}: the place of ${String(name)}`,
      );
      ask((schema === undefined) !== (content === undefined), `${at}: schema or content of ${String(name)}`);
      ask(place !== 'path' || required === true, `${at}: ${String(name)} is required`);
    }
    const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => `path ${name}`).sort();
    ask(
      JSON.stringify(names.filter((name) => name.startsWith('path ')).sort()) === JSON.stringify(inPath),
      `${at}: its path parameters`,
    );
    const responses = operation.responses as { [status: string]: JsonObject } | undefined;
    ask(isObject(responses) && Object.keys(responses).length > 0, `${at}: responses`);
    for (const [status, response] of Object.entries(responses ?? {})) {
      ask(/^([1-5]\d\d|[1-5]XX|default)$/.test(status), `${at}: the status ${status}`);
      const isTold = typeof response.description === 'string' || typeof response.$ref === 'string';
      ask(isTold, `${at}: the description of ${status}`);
    }
    const body = operation.requestBody;
    ask(body === undefined || (isObject(body) && isObject(body.content)), `${at}: the content of its body`);
    for (const requirement of (operation.security ?? []) as JsonObject[]) {
      ask(
        Object.keys(requirement).every((name) => name in schemes),
        `${at}: its security schemes`,
      );
    }
  }
  for (const [name, scheme] of Object.entries(schemes) as [string, JsonObject][]) {
    ask(
      ['apiKey', 'http', 'oauth2', 'openIdConnect', 'mutualTLS'].includes(String(scheme.type)),
      `scheme ${name}`,
    );
  }
  faults.push(...referenceFaults(document));
  return faults;
}

/** Every `$ref` leads somewhere inside of the document. */
function referenceFaults(document: JsonObject): string[] {
  const faults: string[] = [];
  const walk = (value: Json): void => {
    if (Array.isArray(value)) for (const item of value) walk(item);
    if (!isObject(value)) return;
    if (typeof value.$ref === 'string') {
      const steps = value.$ref
        .split('/')
        .slice(1)
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
      let target: Json | undefined = document;
      for (const step of steps) target = isObject(target) ? target[step] : undefined;
      if (target === undefined) faults.push(`${value.$ref} leads nowhere`);
    }
    Object.values(value).forEach(walk);
  };
  walk(document);
  return faults;
}

function componentsOf(document: JsonObject): JsonObject {
  return (document.components as JsonObject).responses as JsonObject;
}

/** Of an operation's statuses those of success. */
function successes(responses: Json | undefined): string[] {
  return Object.keys(isObject(responses) ? responses : {}).filter((status) => /^2/.test(status));
}

describe('/openapi.json', () => {
  const read = async (base: string): Promise<JsonObject> => {
    const answer = await ask(`${base}/openapi.json`);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    return answer.json<JsonObject>();
  };

  it('of the data plane is valid, and shows reports with their parameters', async () => {
    const document = await read(gateway.data);
    expect(faultsOf(document)).toEqual([]);
    const operations = operationsOf(document);
    const get = operations.find(({ path, method }) => path === REPORT && method === 'get')?.operation;
    const names = ((get?.parameters ?? []) as JsonObject[]).map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        ...['advertiserId', 'byDate', 'byCampaign', 'dateFrom', 'dateTo', 'spentBased', 'campaignIds[]'],
        ...['_format', '_totals', '_days', '_period', '_bom'],
      ]),
    );
    const post = operations.find(({ path, method }) => path === REPORT && method === 'post')?.operation;
    expect(post).toHaveProperty([
      'requestBody',
      'content',
      'application/json',
      'schema',
      'properties',
      'advertiserId',
    ]);
    const calls = operations.map(({ path, method }) => `${method} ${path}`);
    expect(calls).toEqual(
      expect.arrayContaining(['get /gateway/v1/me', 'get /readyz', 'post /api/v1/campaign/create']),
    );
    for (const { path, method, operation } of operations) {
      if (method === 'head') continue;
      const { $ref = '' } = (operation.responses as Record<string, { $ref?: string }>).default ?? {};
      const [, , , name = ''] = $ref.split('/');
      const described = $ref === '' ? operation.responses : { default: componentsOf(document)[name] };
      expect(described, path).toHaveProperty(['default', 'content', 'application/problem+json']);
    }
    expect(operations.map(({ path }) => path).filter((path) => path.startsWith('/admin'))).toEqual([]);
  });

  it('of the admin plane is valid, and shows every call that there is', async () => {
    const document = await read(gateway.admin);
    expect(faultsOf(document)).toEqual([]);
    const shown = operationsOf(document).map(({ path, method }) => `${method.toUpperCase()} ${path}`);
    expect(shown).toEqual(
      expect.arrayContaining([
        ...[
          'GET /admin/v1/status',
          'GET /admin/v1/teams',
          'POST /admin/v1/teams',
          'GET /admin/v1/teams/{id}',
        ],
        ...['PATCH /admin/v1/teams/{id}', 'DELETE /admin/v1/teams/{id}', 'POST /admin/v1/teams/{id}/keys'],
        ...['GET /admin/v1/teams/{id}/keys', 'DELETE /admin/v1/keys/{id}', 'POST /admin/v1/keys/{id}/roll'],
        ...['GET /admin/v1/token', 'POST /admin/v1/token/rotate', 'POST /admin/v1/cache/purge'],
        'GET /admin/v1/audit',
      ]),
    );
    const responses = (path: string, method: string) =>
      operationsOf(document).find((one) => one.path === path && one.method === method)?.operation.responses;
    expect(successes(responses('/admin/v1/teams', 'post'))).toEqual(['201']);
    // With 200 where too few replicas of Redis have confirmed it.
    expect(successes(responses('/admin/v1/keys/{id}', 'delete'))).toEqual(['200', '204']);
    // None of them is open to whoever comes without a token, but for health, numbers, the description and signing in.
    const open = / \/(healthz|readyz|metrics|openapi\.json)$|^POST \/admin\/v1\/session$/;
    for (const one of shown.filter((call) => !open.test(call))) {
      const [method = '', path = ''] = one.split(' ');
      const answer = await ask(gateway.admin + path.replace('{id}', 'x'), { method: method as 'GET' });
      expect([one, answer.status]).toEqual([one, 401]);
    }
  });

  it('a document that is wrong would be found', () => {
    const wrong: JsonObject = {
      openapi: '3.0.3',
      info: { title: 'x' },
      components: {},
      paths: {
        '/a/{id}': {
          get: { parameters: [{ name: 'q', in: 'body' }], responses: { 99: {} }, security: [{ none: [] }] },
          post: { requestBody: {}, responses: { 200: { description: '', content: { $ref: '#/nowhere' } } } },
        },
      },
    };
    expect(faultsOf(wrong).length).toBeGreaterThanOrEqual(9);
  });
});

describe('/docs/api', () => {
  it('loads with everything it asks for, from the gateway alone', async () => {
    for (const base of [gateway.data, gateway.admin]) {
      let page = await ask(`${base}/docs/api`);
      let address = new URL('/docs/api', base);
      if (page.status === 302) {
        address = new URL(page.headers.location ?? '', address);
        page = await ask(address.href);
      }
      expect([page.status, page.headers['content-type']]).toEqual([
        200,
        expect.stringMatching(/^text\/html/),
      ]);
      const assets = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, asset]) => asset ?? '');
      expect(assets.filter((asset) => asset.endsWith('.js')).length).toBeGreaterThanOrEqual(2);
      expect(assets.some((asset) => asset.endsWith('.css'))).toBe(true);
      for (const asset of assets) {
        const url = new URL(asset, address);
        expect(url.origin).toBe(new URL(base).origin);
        const answer = await ask(url.href);
        expect([asset, answer.status]).toEqual([asset, 200]);
        expect(answer.bytes.length).toBeGreaterThan(0);
      }
      expect((await ask(`${base}/docs/api/json`)).json()).toEqual((await ask(`${base}/openapi.json`)).json());
    }
  });

  it('lists every error', async () => {
    const answer = await ask(`${gateway.data}/docs/errors`);
    expect(answer.status).toBe(200);
    const links = [...answer.text.matchAll(/href="(\/docs\/errors\/[a-z_]+)"/g)].map(
      ([, link]) => link ?? '',
    );
    expect(links.length).toBeGreaterThan(40);
    for (const link of links) expect((await ask(gateway.data + link)).status).toBe(200);
  });
});
