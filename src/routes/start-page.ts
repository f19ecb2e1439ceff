/** What stands at `/` of the data plane: where somebody is who typed the address alone, and where to go on. */
import type { FastifyInstance } from 'fastify';

const WHAT = 'A gateway for reports of the advertising platform.';
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

/** Without a key, so without anything that only some should know: no version among it. */
export function registerStartPage(app: FastifyInstance): void {
  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    reply.header('vary', 'accept');
    if (!/\btext\/html\b/i.test(request.headers.accept ?? ''))
      return reply.send({ name: 'dsp-gateway', what: WHAT, docs: '/docs', openapi: '/openapi.json' });
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', POLICY)
      .header('x-content-type-options', 'nosniff')
      .send(PAGE);
  });
}

const PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>dsp-gateway</title>
<link rel="icon" href="data:,">
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}</style>
</head><body><h1>dsp-gateway</h1>
<p>${WHAT} Programs call it with a team key, which your operator issues.</p>
<ul>
<li><a href="/docs">What can be asked</a></li>
<li><a href="/docs/errors">What errors mean</a></li>
<li><a href="/openapi.json">The interface for tools (OpenAPI)</a></li>
</ul>
</body></html>`;
