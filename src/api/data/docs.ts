/** The interface described: OpenAPI 3.1 made from the routes, a page to read it, and a page for every error. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifyReply, RouteOptions } from 'fastify';
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { PACKAGE_ROOT } from '../../lib/package-root.js';
import { CARRIER, complete } from '../openapi/complete.js';
import { json } from '../openapi/operation.js';
import type { Plane } from '../openapi/plane.js';

// A page for people, as the errors and `/` have one: no script, and nothing loaded.

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

function sendPage(reply: FastifyReply, html: string, policy = POLICY): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', policy)
    .header('x-content-type-options', 'nosniff')
    .send(html);
}

/** @param content as HTML */
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

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

// What stands at `/` of the data plane: where somebody is who typed the address alone, and where to go on.

const WHAT = 'A gateway for reports of the advertising platform';

/** Without a key, so without anything that only some should know: no version among it. */
export function registerStartPage(app: FastifyInstance): void {
  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    reply.header('vary', 'accept');
    if (/\btext\/html\b/i.test(request.headers.accept ?? '')) return sendPage(reply, PAGE);
    return reply.send({ name: 'dsp-gateway', what: `${WHAT}.`, docs: '/docs', openapi: '/openapi.json' });
  });
}

const PAGE = page(
  WHAT,
  `<p>Programs call it with a team key, which your operator issues.</p>
<ul>
<li><a href="/explorer">Look at reports: the explorer</a></li>
<li><a href="/docs">Documentation</a></li>
<li><a href="/docs/api">What can be asked</a></li>
<li><a href="/docs/errors">What errors mean</a></li>
<li><a href="/openapi.json">The interface for tools (OpenAPI)</a></li>
</ul>`,
);

interface DocsOptions {
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
