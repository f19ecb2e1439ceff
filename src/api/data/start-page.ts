/** What stands at `/` of the data plane: where somebody is who typed the address alone, and where to go on. */
import type { FastifyInstance } from 'fastify';
import { page, sendPage } from './page.js';

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
