/** OpenAPI 3.1 made from the routes, a page to browse it, and the first page of a plane. */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, RouteOptions } from 'fastify';
import Type from 'typebox';
import { CARRIER, complete } from '../openapi/complete.js';
import { json, type Operation } from '../openapi/operation.js';
import type { Plane } from '../openapi/plane.js';
import { registerPages, sendPage, wantsPage } from './docs-pages.js';
import { referenceTheme } from './reference-theme.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How the OpenAPI document describes the route. */
    readonly operation?: Operation;
  }
}

/** Of a page without scripts and loaded files. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

const STYLE = `
body{font:16px/1.6 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color:#1c2530;background:#fff}
code{background:#eef1f4;padding:.1em .3em;border-radius:.25em;overflow-wrap:anywhere}
a{color:#0b5cad}
table{border-collapse:collapse}
th,td{text-align:left;vertical-align:top;padding:.3rem .75rem .3rem 0}
@media(prefers-color-scheme:dark){body{color:#dfe6ee;background:#12171d}code{background:#222a33}a{color:#7db7f5}}
`;

const WHAT = 'A gateway for reports of the advertising platform';

/** `/` of the data plane. It needs no key, so it shows nothing confidential, not even the version. */
export function registerStartPage(app: FastifyInstance): void {
  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    reply.header('vary', 'accept');
    if (wantsPage(request)) return sendPage(reply, PAGE, POLICY);
    return reply.send({ name: 'dsp-gateway', what: `${WHAT}.`, docs: '/docs', openapi: '/openapi.json' });
  });
}

const TITLE = `dsp-gateway: ${WHAT.toLowerCase()}`;
const PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${TITLE} · dsp-gateway</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head><body><h1>${TITLE}</h1>
<p>Programs call it with a team key. Ask your operator for one.</p>
<ul>
<li><a href="/explorer">Explorer: browse reports</a></li>
<li><a href="/docs">Documentation</a></li>
<li><a href="/docs/api">API reference</a></li>
<li><a href="/docs/errors">Error codes</a></li>
<li><a href="/openapi.json">OpenAPI document</a></li>
</ul>
</body></html>`;

interface DocsOptions {
  readonly title: string;
  readonly description: string;
  readonly version: string;
  readonly securitySchemes: Readonly<Record<string, object>>;
  readonly plane: Plane;
}

/** Swagger UI styles elements one by one, and draws its icons as data. */
const UI_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

const OF_HEAD = 'HEAD answers as GET, without a body.';

/** To be registered before the routes it describes. */
export async function registerDocs(app: FastifyInstance, options: DocsOptions): Promise<void> {
  const { title, description, version, securitySchemes, plane } = options;
  await app.register(swagger, {
    // Untagged routes are not part of the interface: wildcards for pass-through routes.
    hideUntagged: true,
    transform: ({ schema, url, route }) => ({
      schema: { ...schema, [CARRIER]: (route as RouteOptions).config?.operation },
      url,
    }),
    transformObject: (generated) =>
      complete('openapiObject' in generated ? generated.openapiObject : generated.swaggerObject, plane),
    openapi: {
      openapi: '3.1.0',
      info: {
        title,
        description: `${description} ${OF_HEAD}`,
        version,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      components: { securitySchemes: securitySchemes as never },
      security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs/api',
    staticCSP: UI_POLICY,
    theme: referenceTheme(title, plane.admin),
    // BaseLayout lacks the bar that could load another document.
    uiConfig: { docExpansion: 'list', deepLinking: false, layout: 'BaseLayout', defaultModelsExpandDepth: 0 },
    transformSpecification: (document) => forPage(document as Document, plane.admin ? 'bearer' : 'apiKey'),
  });
  app.get('/openapi.json', { schema: DOCUMENT.schema, config: DOCUMENT.config }, async () => app.swagger());
  registerPages(app, plane.admin);
}

interface Call {
  security?: object[];
  readonly parameters?: readonly { readonly schema: { enum?: unknown[] } }[];
}

interface Document {
  components: { securitySchemes: Record<string, object> };
  security: object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Call>>>>;
}

/**
 * The document as its page takes it: with one way to enter a key, since it cannot send the cookie of a session, and each value of a list once.
 * @param document changed in place
 */
function forPage(document: Document, name: string): object {
  const { [name]: scheme = {} } = document.components.securitySchemes;
  document.components.securitySchemes = { [name]: scheme };
  const all = Object.values(document.paths).flatMap((item) => Object.values(item));
  for (const one of [document, ...all])
    if (one.security) one.security = one.security.filter((way) => name in way);
  for (const { schema } of all.flatMap(({ parameters = [] }) => parameters))
    if (schema.enum) schema.enum = [...new Set(schema.enum.map(String))];
  return document;
}

const DOCUMENT = {
  schema: { tags: ['interface'], summary: 'This OpenAPI document', security: [] },
  config: {
    operation: {
      id: 'getInterface',
      answers: { 200: json(Type.Object({}, { additionalProperties: true }), 'OpenAPI 3.1.') },
    },
  },
};
