/** The interface described: OpenAPI 3.1 made from the routes, a page to read it, and a page for every error. */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifyReply, RouteOptions } from 'fastify';
import Type from 'typebox';
import { CATALOGUE, type ErrorCode, GatewayError, statusOf } from '../errors.js';
import { CARRIER, complete } from '../openapi/complete.js';
import { json } from '../openapi/operation.js';
import type { Plane } from '../openapi/plane.js';

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
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

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
    routePrefix: '/docs',
    staticCSP: UI_POLICY,
    theme: { title },
    // BaseLayout is the page without the bar that would load any other description.
    uiConfig: { docExpansion: 'list', deepLinking: false, layout: 'BaseLayout' },
  });
  registerPages(app, plane.admin);
}

function registerPages(app: FastifyInstance, admin: boolean): void {
  app.get('/openapi.json', { schema: DOCUMENT.schema, config: DOCUMENT.config }, async () => app.swagger());
  app.get('/docs/errors', { schema: { hide: true } }, async (_request, reply) =>
    sendPage(reply, errorList(admin)),
  );
  app.get('/docs/errors/:code', { schema: { hide: true } }, async (request, reply) => {
    const { code } = request.params as { code: string };
    if (!Object.hasOwn(CATALOGUE, code)) throw new GatewayError('not_found');
    return sendPage(reply, errorPage(code as ErrorCode, admin));
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

function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(html);
}

function errorList(admin: boolean): string {
  const rows = Object.entries(CATALOGUE).map(
    ([code, { title }]) =>
      `<tr><td>${shownStatus(code as ErrorCode, admin)}</td><td><a href="/docs/errors/${code}"><code>${code}</code></a></td><td>${escapeHtml(title)}</td></tr>`,
  );
  return page(
    'Errors',
    `<table><thead><tr><th>Status</th><th>Code</th><th>Title</th></tr></thead><tbody>${rows.join('\n')}</tbody></table>
<p><a href="/docs">Interface</a></p>`,
  );
}

function errorPage(code: ErrorCode, admin: boolean): string {
  const { title, meaning, remedy } = CATALOGUE[code];
  return page(
    title,
    `<p><code>${code}</code> · HTTP ${shownStatus(code, admin)}</p>
<p>${prose(meaning)}</p>
<h2>What to do</h2>
<p>${prose(remedy)}</p>
<p><a href="/docs/errors">All errors</a> · <a href="/docs">Interface</a></p>`,
  );
}

/** The one error without a status of its own. */
function shownStatus(code: ErrorCode, admin: boolean): string {
  return code === 'upstream_rejected' ? '4xx' : String(statusOf(code, admin));
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)} · dsp-gateway</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head><body><h1>${escapeHtml(title)}</h1>
${content}
</body></html>`;
}

const STYLE = `
body{font:16px/1.6 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color:#1c2530;background:#fff}
code{background:#eef1f4;padding:.1em .3em;border-radius:.25em;overflow-wrap:anywhere}
a{color:#0b5cad}
table{border-collapse:collapse}
th,td{text-align:left;vertical-align:top;padding:.3rem .75rem .3rem 0}
@media(prefers-color-scheme:dark){body{color:#dfe6ee;background:#12171d}code{background:#222a33}a{color:#7db7f5}}
`;

/** Plain text in which backquotes mark code. */
function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
