/** Static files of console and explorer, from `npm run build`. They contain nothing secret, so they need no key. */
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { PACKAGE_ROOT } from '../../lib/package-root.js';
import { negotiateCoding } from '../../reports/query/output-options.js';

const BUILT = new URL('dist/web/', PACKAGE_ROOT);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Own files and own API only; no text becomes markup (trusted types), no forms, no framing. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  vary: 'accept-encoding',
};

/** Asset names contain a digest of their content. */
const FOREVER = 'public, max-age=31536000, immutable';

interface WebPage {
  /** Folder below `dist/web`, and first segment of its assets' paths. */
  readonly name: 'console' | 'explorer';
  readonly url: string;
}

/** @throws the system's error if the pages are not built: an image without its pages must not start */
export function registerWebPage(app: FastifyInstance, { name, url }: WebPage): void {
  const folder = new URL(`${name}/`, BUILT);
  serve(app, url, new URL('index.html', folder), 'no-cache');
  for (const file of readdirSync(new URL('assets/', folder)))
    serve(app, `/${name}/assets/${file}`, new URL(`assets/${file}`, folder), FOREVER);
}

function serve(app: FastifyInstance, url: string, file: URL, cacheControl: string): void {
  const plain = readFileSync(file);
  const headers = {
    ...HEADERS,
    'cache-control': cacheControl,
    'content-type': TYPES[extname(file.pathname)] ?? 'application/octet-stream',
  };
  let gzipped: Buffer | null = null;
  app.get(url, { schema: { hide: true } }, async (request, reply) => {
    reply.headers(headers);
    if (negotiateCoding(request.headers['accept-encoding']) !== 'gzip') return reply.send(plain);
    gzipped ??= gzipSync(plain, { level: 9 });
    return reply.header('content-encoding', 'gzip').send(gzipped);
  });
}
