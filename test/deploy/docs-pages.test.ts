/** What a person and a tool read of the interface: /openapi.json, /docs, and a page for every error. */
import { type FastifyInstance, fastify } from 'fastify';
import Type from 'typebox';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { registerDocs } from '../../src/api/data/docs.js';
import { json, shownAs } from '../../src/api/openapi/operation.js';
import { CATALOGUE } from '../../src/errors.js';
import { withGateway } from '../support/start-gateway.js';

let app: FastifyInstance;
beforeAll(async () => {
  app = fastify();
  await registerDocs(app, {
    title: 'A gateway',
    description: 'What it does.',
    version: '1.2.3',
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    plane: { admin: false, tags: {}, callers: () => [], callerHeaders: [], further: [] },
  });
  const thing = shownAs('things', 'One thing', { id: 'getThing', answers: { 200: json(Type.Object({})) } });
  app.get('/tagged/:id', thing, async () => ({ unknown: 'member' }));
  app.get('/wild/*', async () => ({}));
  await app.ready();
});
afterAll(() => app.close());

const get = (url: string) => app.inject({ url });

it('describes tagged routes alone, each to be opened by any of the schemes', async () => {
  const document = (await get('/openapi.json')).json<Record<string, unknown>>();
  expect(document).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'A gateway', version: '1.2.3' },
    security: [{ bearer: [] }],
  });
  expect(Object.keys(document.paths as object)).toEqual(['/openapi.json', '/tagged/{id}']);
});

it('shows the description under its own name, and lets the page load nothing from elsewhere', async () => {
  const { statusCode, headers, body } = await get('/docs/api');
  expect(statusCode).toBe(200);
  expect(body).toContain('<title>A gateway</title>');
  expect(headers['content-security-policy']).toContain("default-src 'self'");
  expect(headers['content-security-policy']).not.toMatch(/https?:|unsafe-eval|upgrade-insecure/);
  expect((await get('/docs/api/static/swagger-initializer.js')).body).toContain('"layout":"BaseLayout"');
});

it('lists every error, and has a page for each, in HTML that holds no stray backquote', async () => {
  const list = (await get('/docs/errors')).body;
  for (const [code, { title }] of Object.entries(CATALOGUE)) {
    expect(list).toContain(`<a href="/docs/errors/${code}"><code>${code}</code></a>`);
    const { statusCode, headers, body } = await get(`/docs/errors/${code}`);
    expect({ code, statusCode, type: headers['content-type'] }).toEqual({
      code,
      statusCode: 200,
      type: 'text/html; charset=utf-8',
    });
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(body).toContain(`<h1>${title.replaceAll('&', '&amp;')}</h1>`);
    expect(body).not.toContain('`');
  }
  expect((await get('/docs/errors/invalid_query')).body).toContain('Read <code>errors</code>,');
});

it('says of the error without a status of its own that it is the platform’s', async () => {
  expect((await get('/docs/errors/upstream_rejected')).body).toContain('HTTP 4xx');
  expect((await get('/docs/errors/upstream_error')).body).toContain('HTTP 502');
});

it('says of a code the status that it has on the plane', async () => {
  expect((await get('/docs/errors/invalid_body')).body).toContain('HTTP 400');
  const gateway = await withGateway();
  const page = (await gateway.admin.inject('/docs/errors/invalid_body')).body;
  expect(page).toContain('HTTP 422');
  const list = (await gateway.admin.inject('/docs/errors')).body;
  expect(list).toContain('<td>422</td><td><a href="/docs/errors/invalid_body">');
});

it.each(['nonsense', 'constructor', '__proto__', 'toString'])('has no page for %s', async (code) => {
  expect((await get(`/docs/errors/${code}`)).statusCode).toBe(404);
});
