/** The console and the explorer as they are served: what, to whom, and what the pages may do. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type FastifyInstance, fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerWebPage } from '../../src/api/data/web-page.js';
import { ask } from '../support/ask.js';
import { openGateway } from '../support/open-gateway.js';
import { ROOT } from '../support/processes.js';

const PAGES = [
  { name: 'console', url: '/' },
  { name: 'explorer', url: '/explorer' },
] as const;

const BUILT = join(ROOT, 'dist', 'web');

/** All that a browser loads of a page, gzipped: it opens at once on a phone. The explorer has the chart’s library, days that changed with their campaigns, days known while the platform does not answer, filters in words with lists, final days of a comparison, what changed since an earlier time, and when numbers of an earlier time were last read. */
const MOST_BYTES: Readonly<Record<string, number>> = { console: 107_000, explorer: 90_500 };

async function filesOf(name: string): Promise<{ url: string; file: string }[]> {
  const assets = await readdir(join(BUILT, name, 'assets'));
  return assets.map((file) => ({ url: `/${name}/assets/${file}`, file: join(BUILT, name, 'assets', file) }));
}

it.each(PAGES)('$name is small', async ({ name }) => {
  const files = await filesOf(name);
  const sizes = await Promise.all(files.map(async ({ file }) => gzipSync(await readFile(file)).length));
  expect(sizes.length).toBeGreaterThanOrEqual(3);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES[name] as number);
});

describe.each(PAGES)('$name', ({ name, url }) => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = fastify();
    registerWebPage(app, { name, url });
    await app.ready();
  });
  afterAll(() => app.close());

  it('is served with its assets, as they were built, plain or compressed', async () => {
    const all = [{ url, file: join(BUILT, name, 'index.html') }, ...(await filesOf(name))];
    for (const one of all) {
      const built = await readFile(one.file);
      const plain = await app.inject({ url: one.url });
      expect({ url: one.url, status: plain.statusCode, same: built.equals(plain.rawPayload) }).toEqual({
        url: one.url,
        status: 200,
        same: true,
      });
      const packed = await app.inject({ url: one.url, headers: { 'accept-encoding': 'gzip' } });
      expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
      expect(gunzipSync(packed.rawPayload).equals(built)).toBe(true);
    }
  });

  it('is asked for anew each time; what is named by a digest is kept for ever', async () => {
    const page = await app.inject({ url });
    expect(page.headers['cache-control']).toBe('no-cache');
    for (const asset of await filesOf(name)) {
      expect(asset.url).toMatch(/-[\w-]{8}\.\w+$/);
      const { headers } = await app.inject({ url: asset.url });
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
    }
  });

  it('may load its own files and ask its own API, and nothing else', async () => {
    for (const one of [url, ...(await filesOf(name)).map((asset) => asset.url)]) {
      const { headers } = await app.inject({ url: one });
      expect(String(headers['content-security-policy']).split('; ')).toEqual([
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
      ]);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      });
    }
  });

  it('loads its assets by their names, and has neither script nor style between tags', async () => {
    const { body } = await app.inject({ url });
    const links = [...body.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, link]) => link);
    expect(links.length).toBeGreaterThanOrEqual(3);
    for (const link of links) expect((await app.inject({ url: link as string })).statusCode).toBe(200);
    expect(body.match(/<style|style="|<script(?![^>]* src=)|\son\w+="/g)).toBeNull();
  });

  it('has no other paths and takes no other method', async () => {
    expect((await app.inject({ method: 'HEAD', url })).statusCode).toBe(200);
    for (const other of [
      `/${name}/`,
      `/${name}/assets/`,
      `/${name}/assets/../index.html`,
      `/${name}/index.html`,
    ])
      expect({ other, status: (await app.inject({ url: other })).statusCode }).toEqual({
        other,
        status: 404,
      });
    expect((await app.inject({ method: 'POST', url, payload: {} })).statusCode).toBe(404);
  });
});

it('leave nothing in the browser: neither storage nor a cookie that a script reads', async () => {
  const sources = await readdir(join(ROOT, 'src', 'web'), { recursive: true });
  const scripts = sources.filter((name) => /\.tsx?$/.test(name));
  expect(scripts.length).toBeGreaterThan(10);
  for (const file of scripts) {
    const found = (await readFile(join(ROOT, 'src', 'web', file), 'utf8')).match(
      /localStorage|sessionStorage|indexedDB|document\.cookie|innerHTML|dangerouslySet|https?:\/\/(?!\$)/g,
    );
    expect({ file, found }).toEqual({ file, found: null });
  }
});

it('are each on one plane of a running gateway, without a key', async () => {
  const { gateway } = await openGateway();
  const [console, explorer] = [await ask(`${gateway.admin}/`), await ask(`${gateway.data}/explorer`)];
  expect([console.status, explorer.status]).toEqual([200, 200]);
  expect(console.text).toBe(await readFile(join(BUILT, 'console', 'index.html'), 'utf8'));
  expect(explorer.text).toBe(await readFile(join(BUILT, 'explorer', 'index.html'), 'utf8'));
  expect((await ask(`${gateway.admin}/explorer`)).status).toBe(404);
  const [asset] = await filesOf('console');
  expect((await ask(`${gateway.data}${asset?.url}`)).status).toBe(404);
  const post = await ask(`${gateway.admin}/`, { method: 'POST', json: {} });
  expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD']);
  // What they show is behind a token or a key as ever.
  expect((await ask(`${gateway.admin}/admin/v1/status`)).status).toBe(401);
  expect((await ask(`${gateway.data}/gateway/v1/me`)).status).toBe(401);
});
