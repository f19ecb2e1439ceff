/** The console: a page of static files over the admin API. It asks for the admin token itself, so it needs none. */
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

/** The same place from `src/admin` and from `dist/admin`: nothing is built, and nothing is copied. */
const FOLDER = new URL('../../src/console/', import.meta.url);

const SCRIPT = 'text/javascript; charset=utf-8';
const FILES: Readonly<Record<string, readonly [url: string, type: string]>> = {
  'index.html': ['/', 'text/html; charset=utf-8'],
  'style.css': ['/console/style.css', 'text/css; charset=utf-8'],
  'main.js': ['/console/main.js', SCRIPT],
  'api.js': ['/console/api.js', SCRIPT],
  'dom.js': ['/console/dom.js', SCRIPT],
  'status.js': ['/console/status.js', SCRIPT],
  'teams.js': ['/console/teams.js', SCRIPT],
  'token.js': ['/console/token.js', SCRIPT],
  'explain.js': ['/console/explain.js', SCRIPT],
  'audit.js': ['/console/audit.js', SCRIPT],
};

/** Own files and own API alone; no text becomes markup (trusted types), no form is sent, no page frames this one. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'cache-control': 'no-cache',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** @throws the system's error when a file is missing: an image without its console shall not start */
export function registerConsole(app: FastifyInstance): void {
  for (const [file, [url, type]] of Object.entries(FILES)) {
    const body = readFileSync(new URL(file, FOLDER));
    app.get(url, { schema: { hide: true } }, async (_request, reply) =>
      reply.headers({ ...HEADERS, 'content-type': type }).send(body),
    );
  }
}
