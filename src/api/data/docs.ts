/** The interface described: OpenAPI 3.1 made from the routes, a page to read it, and a page for every error. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, RouteOptions } from 'fastify';
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { PACKAGE_ROOT } from '../../lib/package-root.js';
import { CARRIER, complete } from '../../openapi/complete.js';
import { json } from '../../openapi/operation.js';
import type { Plane } from '../../openapi/plane.js';
import { sendPage } from './page.js';

export interface DocsOptions {
  readonly title: string;
  readonly description: string;
  readonly version: string;
  /** Any one of them opens every route. */
  readonly securitySchemes: Readonly<Record<string, object>>;
  readonly plane: Plane;
}

const WRITTEN = new URL('dist/pages/', PACKAGE_ROOT);
/** Swagger UI styles elements one by one, and draws its icons as data. */
const UI_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";
/** To be registered before the routes it describes. */
export async function registerDocs(app: FastifyInstance, options: DocsOptions): Promise<void> {
  const { title, description, version, securitySchemes, plane } = options;
  await app.register(swagger, {
    // What is not tagged is no interface: the wildcards behind which pass-through routes lie.
    hideUntagged: true,
    transform: ({ schema, url, route }) => ({
      schema: { ...schema, [CARRIER]: (route as RouteOptions).config?.operation },
      url,
    }),
    transformObject: (generated) =>
      complete('openapiObject' in generated ? generated.openapiObject : generated.swaggerObject, plane),
    openapi: {
      openapi: '3.1.0',
      info: { title, description, version, license: { name: 'MIT', identifier: 'MIT' } },
      components: { securitySchemes: securitySchemes as never },
      security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs/api',
    staticCSP: UI_POLICY,
    theme: { title },
    // BaseLayout is the page without the bar that would load any other description.
    uiConfig: { docExpansion: 'list', deepLinking: false, layout: 'BaseLayout' },
  });
  registerPages(app, plane.admin);
}

/** @param written the folder of the pages, as `npm run build:program` writes them */
export function registerPages(app: FastifyInstance, admin: boolean, written = WRITTEN): void {
  app.get('/openapi.json', { schema: DOCUMENT.schema, config: DOCUMENT.config }, async () => app.swagger());
  for (const path of ['/docs', '/docs/:page', '/docs/adr/:page', '/docs/errors/:page'])
    app.get<{ Params: { page?: string } }>(path, { schema: { hide: true } }, async ({ params }, reply) => {
      const page = params.page ?? '';
      const html = /^[\w-]*$/.test(page) ? await readPage(path.replace(':page', page), admin, written) : null;
      if (html !== null) return sendPage(reply, html, policyOf(html));
      // Without the pages there is still the interface.
      if (path === '/docs') return reply.redirect('/docs/api');
      throw new GatewayError('not_found');
    });
}

async function readPage(path: string, admin: boolean, written: URL): Promise<string | null> {
  for (const folder of ['all', admin ? 'admin' : 'data']) {
    const html = await readFile(new URL(`${folder}${path}.html`, written), 'utf8').catch(() => null);
    if (html !== null) return html;
  }
  return null;
}

/** The one style is named by its hash, so that no other is taken. */
function policyOf(html: string): string {
  const style = /<style>([^<]*)<\/style>/.exec(html)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}

const DOCUMENT = {
  schema: { tags: ['interface'], summary: 'This description', security: [] },
  config: {
    operation: {
      id: 'getInterface',
      answers: { 200: json(Type.Object({}, { additionalProperties: true }), 'OpenAPI 3.1.') },
    },
  },
};
