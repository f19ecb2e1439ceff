/** The interface described: OpenAPI 3.1 made from the routes, a page to read it, and a page for every error. */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { CATALOGUE, type ErrorCode, GatewayError } from '../errors.js';

export interface DocsOptions {
  readonly title: string;
  readonly description: string;
  readonly version: string;
  readonly securitySchemes: Readonly<Record<string, object>>;
}

/** To be registered before the routes it describes. */
export async function registerDocs(app: FastifyInstance, options: DocsOptions): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: options.title, description: options.description, version: options.version },
      components: { securitySchemes: options.securitySchemes as never },
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    uiConfig: { docExpansion: 'list', deepLinking: false },
  });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
  app.get('/docs/errors', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .send(page('Errors', Object.keys(CATALOGUE).map(listItem).join('\n'))),
  );
  app.get('/docs/errors/:code', { schema: { hide: true } }, async (request, reply) => {
    const { code } = request.params as { code: string };
    if (!(code in CATALOGUE)) throw new GatewayError('not_found');
    return reply.type('text/html; charset=utf-8').send(errorPage(code as ErrorCode));
  });
}

function listItem(code: string): string {
  const { status, title } = CATALOGUE[code as ErrorCode];
  return `<p><a href="/docs/errors/${code}"><code>${code}</code></a> · ${status} · ${escapeHtml(title)}</p>`;
}

function errorPage(code: ErrorCode): string {
  const { status, title, meaning, remedy } = CATALOGUE[code];
  return page(
    title,
    `<p><code>${code}</code> · HTTP ${status}</p><p>${escapeHtml(meaning)}</p><h2>What to do</h2><p>${escapeHtml(remedy)}</p><p><a href="/docs/errors">All errors</a> · <a href="/docs">Interface</a></p>`,
  );
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)} · dsp-gateway</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color:#1c2530;background:#fff}code{background:#eef1f4;padding:.1em .3em;border-radius:.25em}a{color:#0b5cad}@media(prefers-color-scheme:dark){body{color:#dfe6ee;background:#12171d}code{background:#222a33}a{color:#7db7f5}}</style>
</head><body><h1>${escapeHtml(title)}</h1>
${content}
</body></html>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
