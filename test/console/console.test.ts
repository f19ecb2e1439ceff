/** The console: what is served, to whom, and what the page may do. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { type FastifyInstance, fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerConsole } from '../../src/admin/console.js';
import { span } from '../../src/commands/span.js';
import { ask } from '../support/ask.js';
import { ROOT, startGateway } from '../support/processes.js';

const FOLDER = join(ROOT, 'src', 'console');

let app: FastifyInstance;
let files: string[];
beforeAll(async () => {
  app = fastify();
  registerConsole(app);
  await app.ready();
  files = await readdir(FOLDER);
});
afterAll(() => app.close());

const urlOf = (file: string): string => (file === 'index.html' ? '/' : `/console/${file}`);
const read = (file: string): Promise<string> => readFile(join(FOLDER, file), 'utf8');

describe('the files', () => {
  it('are all served, as they are', async () => {
    const TYPES: Record<string, string> = { html: 'text/html', css: 'text/css', js: 'text/javascript' };
    for (const file of files) {
      const { statusCode, headers, body } = await app.inject({ url: urlOf(file) });
      const type = `${TYPES[file.split('.')[1] as string]}; charset=utf-8`;
      expect({ file, statusCode, type: headers['content-type'] }).toEqual({ file, statusCode: 200, type });
      expect(body).toBe(await read(file));
    }
  });

  it('are few and small: nothing has to be built', async () => {
    const sizes = await Promise.all(files.map(async (file) => (await read(file)).length));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(64_000);
  });

  it('name no other place, and each other only where they are', async () => {
    for (const file of files) {
      const text = await read(file);
      expect({ file, found: text.match(/https?:\/\/|\/\/[a-z]+\./g) }).toEqual({ file, found: null });
      const links = [...text.matchAll(/(?:src|href)="(\/[^"]*)"|from '\.\/([\w.-]+)'/g)];
      for (const [, url, name] of links) {
        const target = url ?? `/console/${name}`;
        if (target.startsWith('/docs')) continue;
        expect(files.map(urlOf)).toContain(target);
      }
    }
  });

  it('are modules that a parser takes', async () => {
    for (const file of files.filter((name) => name.endsWith('.js'))) {
      // Those that touch the page when they are loaded are not run here.
      if (file !== 'main.js') expect(Object.keys(await import(join(FOLDER, file)))).not.toEqual([]);
    }
  });
});

it('says lengths of time as the command line does', async () => {
  const page = (await import(join(FOLDER, 'dom.js'))) as { span: (seconds: number | null) => string | null };
  fc.assert(
    fc.property(fc.option(fc.integer({ min: -(10 ** 9), max: 10 ** 9 })), (seconds) => {
      expect(page.span(seconds)?.replace('−', '-') ?? null).toBe(span(seconds));
    }),
  );
});

describe('the page', () => {
  it('may load its own files and ask its own API, and nothing else', async () => {
    for (const file of files) {
      const { headers } = await app.inject({ url: urlOf(file) });
      const policy = String(headers['content-security-policy']).split('; ');
      expect(policy).toEqual([
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
      ]);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
      });
    }
  });

  it('keeps to what its policy allows: no inline script or style, and no markup from text', async () => {
    for (const file of files) {
      const text = await read(file);
      expect({
        file,
        found: text.match(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/g),
      }).toEqual({
        file,
        found: null,
      });
      expect({ file, found: text.match(/<style|style="|<script(?![^>]* src=)|\son\w+="/g) }).toEqual({
        file,
        found: null,
      });
    }
  });

  it('leaves the admin token nowhere', async () => {
    for (const file of files) {
      const found = (await read(file)).match(/localStorage|sessionStorage|indexedDB|document\.cookie/g);
      expect({ file, found }).toEqual({ file, found: null });
    }
  });

  it('takes no other method, and has no other paths', async () => {
    expect((await app.inject({ method: 'HEAD', url: '/' })).statusCode).toBe(200);
    for (const url of ['/console', '/console/', '/console/../status.ts', '/console/nothing.js'])
      expect((await app.inject({ url })).statusCode).toBe(404);
  });
});

it('is on the admin plane of a running gateway, without a token, and not on the data plane', async () => {
  const gateway = await startGateway({ PLATFORM_BASE_URL: 'http://127.0.0.1:9' });
  const page = await ask(`${gateway.admin}/`);
  expect([page.status, page.text]).toEqual([200, await read('index.html')]);
  expect((await ask(`${gateway.admin}/console/main.js`)).status).toBe(200);
  const post = await ask(`${gateway.admin}/`, { method: 'POST', json: {} });
  expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD']);
  expect((await ask(`${gateway.data}/`)).text).not.toContain('console');
  expect((await ask(`${gateway.data}/console/main.js`)).status).toBe(404);
  // What it shows is behind the token as ever.
  expect((await ask(`${gateway.admin}/admin/v1/status`)).status).toBe(401);
});
