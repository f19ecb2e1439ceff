/**
 * Servers that a gateway is compared with, each the plainest of its kind. Prints its address when it listens.
 * Usage: node peers.mjs node-http|fastify|http-proxy|undici-cache PLATFORM TARGET
 */
import { createServer } from 'node:http';
import httpProxy from '@fastify/http-proxy';
import { fastify } from 'fastify';
import { Agent, interceptors, request } from 'undici';

const [, , kind, platform, target] = process.argv;
const NOT_MODIFIED = process.env.NOT_MODIFIED === '1';

async function bodyOf() {
  const { body } = await request(platform + target);
  return Buffer.from(await body.arrayBuffer());
}

const KINDS = {
  async 'node-http'() {
    const body = await bodyOf();
    const headers = { 'content-type': 'application/json', 'content-length': body.length, etag: '"one"' };
    return createServer((_request, response) => {
      if (NOT_MODIFIED) response.writeHead(304, { etag: '"one"' }).end();
      else response.writeHead(200, headers).end(body);
    });
  },
  async fastify() {
    const body = await bodyOf();
    const app = fastify();
    app.get('/*', (_request, reply) => {
      reply.header('etag', '"one"');
      if (NOT_MODIFIED) return reply.code(304).send();
      return reply.type('application/json').send(body);
    });
    await app.ready();
    return app.server;
  },
  async 'http-proxy'() {
    const app = fastify();
    await app.register(httpProxy, { upstream: platform });
    await app.ready();
    return app.server;
  },
  async 'undici-cache'() {
    const agent = new Agent().compose(interceptors.cache());
    return createServer(({ url }, response) => {
      void request(platform + url, { dispatcher: agent }).then(({ statusCode, body }) => {
        response.writeHead(statusCode, { 'content-type': 'application/json' });
        body.pipe(response);
      });
    });
  },
};

const server = await KINDS[kind]();
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`));
