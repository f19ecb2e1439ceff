/** The interface described: OpenAPI 3.1 made from the routes, a page to read it, and a page for every error. */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, RouteOptions } from 'fastify';
import Type from 'typebox';
import { CATALOGUE, type ErrorCode, GatewayError, statusOf } from '../errors.js';
import { CARRIER, complete } from '../openapi/complete.js';
import { json } from '../openapi/operation.js';
import type { Plane } from '../openapi/plane.js';
import { escapeHtml } from './page.js';
import { openReader, type Reader } from './reader/open-reader.js';

export interface DocsOptions {
  readonly title: string;
  readonly description: string;
  readonly version: string;
  /** Any one of them opens every route. */
  readonly securitySchemes: Readonly<Record<string, object>>;
  readonly plane: Plane;
}

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
  registerPages(app, plane.admin, openReader());
}

function registerPages(app: FastifyInstance, admin: boolean, reader: Reader): void {
  reader.register(app);
  app.get('/openapi.json', { schema: DOCUMENT.schema, config: DOCUMENT.config }, async () => app.swagger());
  app.get('/docs/errors', { schema: { hide: true } }, async (_request, reply) =>
    reader.send(reply, { address: '/docs/errors', title: 'Errors', html: errorList(admin) }),
  );
  app.get('/docs/errors/:code', { schema: { hide: true } }, async (request, reply) => {
    const { code } = request.params as { code: string };
    if (!Object.hasOwn(CATALOGUE, code)) throw new GatewayError('not_found');
    const { title } = CATALOGUE[code as ErrorCode];
    const html = errorPage(code as ErrorCode, admin);
    return reader.send(reply, { address: '/docs/errors', title, html });
  });
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

function errorList(admin: boolean): string {
  const rows = Object.entries(CATALOGUE).map(
    ([code, { title }]) =>
      `<tr><td>${shownStatus(code as ErrorCode, admin)}</td><td><a href="/docs/errors/${code}"><code>${code}</code></a></td><td>${escapeHtml(title)}</td></tr>`,
  );
  return `<p>Every error is a problem document: <code>application/problem+json</code>, RFC 9457. Its <code>type</code> leads to
the page of its <code>code</code> below; <code>detail</code> says what is wrong with this request, <code>help</code> what to
do next, and <code>requestId</code> is what to tell the operator.</p>
<div class="table" tabindex="0"><table><thead><tr><th>Status</th><th>Code</th><th>Title</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`;
}

function errorPage(code: ErrorCode, admin: boolean): string {
  const { meaning, remedy } = CATALOGUE[code];
  return `<p><code>${code}</code> · HTTP ${shownStatus(code, admin)}</p>
<p class="lead">${prose(meaning)}</p>
<h2>What to do</h2>
<p>${prose(remedy)}</p>
<p><a href="/docs/errors">All errors</a></p>`;
}

/** The one error without a status of its own. */
function shownStatus(code: ErrorCode, admin: boolean): string {
  return code === 'upstream_rejected' ? '4xx' : String(statusOf(code, admin));
}

/** Plain text in which backquotes mark code. */
function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}
