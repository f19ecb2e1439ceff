/** The documentation as a running gateway shows it. */
import { createHash } from 'node:crypto';
import { fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOf, addressOfPage, pageNames } from '../../docs/build/library.js';
import { renderMarkdown } from '../../docs/build/markdown.js';
import { registerPages } from '../../src/api/data/docs.js';
import { CATALOGUE } from '../../src/errors.js';
import { startGateway, type TestGateway } from '../support/start-gateway.js';

const toNowhere = () => null;

describe('markdown', () => {
  it('takes the first heading for the title, and gives all others an anchor of their own, as GitHub does', () => {
    const { title, html, headings } = renderMarkdown(
      '# The `way`\n\n## A key’s end\n\n### x\n\n## A key’s end',
      toNowhere,
    );
    expect(title).toBe('The way');
    expect(html).not.toContain('<h1');
    expect(headings.map(({ id }) => id)).toEqual(['a-keys-end', 'x', 'a-keys-end-1']);
    expect(html).toContain(
      '<h2 id="a-keys-end-1"><a class="anchor" href="#a-keys-end-1">A key’s end</a></h2>',
    );
  });

  it('shows what is HTML as text, and no comment', () => {
    const { html } = renderMarkdown(
      '<img src=x onerror=alert(1)>\n\na <b onclick="x">c</b> d\n\n<!-- end -->\n',
      toNowhere,
    );
    expect(html).not.toMatch(/<(img|b)\b|end --/);
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
  });

  it('leaves of a link that leads nowhere its text', () => {
    expect(renderMarkdown('see [the code](../src/x.ts) ![a picture](x.png)', toNowhere).html).toBe(
      '<p>see the code <em>a picture</em></p>\n',
    );
  });

  it('writes code as it stands, and tables that scroll by themselves, without an empty head', () => {
    const { html } = renderMarkdown('```sh\ncurl "a&b"\n```\n\n| | |\n|---|--:|\n| a | `b` |', toNowhere);
    expect(html).toContain('<pre tabindex="0" data-lang="sh"><code>curl "a&amp;b"\n</code></pre>');
    expect(html).toContain('<tbody><tr><td>a</td><td class="right"><code>b</code></td></tr></tbody>');
    expect(html).not.toContain('<thead>');
  });
});

it('links of a page lead to the addresses of the reader', () => {
  const names = ['index.md', 'caching.md', 'adr/index.md', 'adr/0001-fastify.md'];
  expect(names.map(addressOfPage)).toEqual(['/docs', '/docs/caching', '/docs/adr', '/docs/adr/0001-fastify']);
  const from = (name: string, href: string) => addressOf(name, href, names);
  expect(from('adr/index.md', '0001-fastify.md')).toBe('/docs/adr/0001-fastify');
  expect(from('adr/0001-fastify.md', '../caching.md#days')).toBe('/docs/caching#days');
  expect(from('index.md', 'errors.md')).toBe('/docs/errors');
  expect(from('index.md', '#here')).toBe('#here');
  expect(from('index.md', '../CONTRIBUTING.md')).toBeNull();
  expect(from('index.md', 'https://example.com/')).toBe('https://example.com/');
});

it('without its pages there is the interface', async () => {
  const app = fastify();
  registerPages(app, false, new URL('file:///nowhere/'));
  const { statusCode, headers } = await app.inject('/docs');
  expect([statusCode, headers.location]).toEqual([302, '/docs/api']);
});

describe('a running gateway', () => {
  const names = pageNames();
  const addresses = [...names.map(addressOfPage), '/docs/errors', '/docs/errors/invalid_query'];
  let gateway: TestGateway;
  const pages = new Map<string, string>();
  beforeAll(async () => {
    gateway = await startGateway();
    for (const address of addresses) pages.set(address, (await gateway.data.inject(address)).body);
  });

  afterAll(() => gateway.close());

  it('has every page, on both planes, under a policy that lets it load nothing at all', async () => {
    expect(names.length).toBeGreaterThan(60);
    for (const plane of [gateway.data, gateway.admin])
      for (const address of ['/docs', '/docs/operations', '/docs/adr', '/docs/errors']) {
        const { statusCode, headers, body } = await plane.inject(address);
        expect([address, statusCode, headers['content-type']]).toEqual([
          address,
          200,
          'text/html; charset=utf-8',
        ]);
        const policy = String(headers['content-security-policy']);
        expect(policy).toContain("default-src 'none'");
        expect(policy).not.toMatch(/unsafe|https?:|script/);
        const style = /<style>([\s\S]*?)<\/style>/.exec(body)?.[1] ?? '';
        expect(policy).toContain(`'sha256-${createHash('sha256').update(style).digest('base64')}'`);
        expect(body).not.toMatch(/<script| style="| on\w+="|<(img|iframe|object)\b/);
      }
  });

  it('leads with every link to a page that is there, and to an anchor in it', () => {
    const wrong: string[] = [];
    const targets = [
      '/docs/api',
      '/openapi.json',
      ...Object.keys(CATALOGUE).map((code) => `/docs/errors/${code}`),
    ];
    for (const [address, body] of pages)
      for (const [, href = ''] of body.matchAll(/ href="([^"]*)"/g)) {
        if (/^(https?:|data:)/.test(href) || targets.includes(href)) continue;
        const [path, hash] = href.split('#', 2);
        const page = pages.get(path === '' ? address : (path ?? ''));
        const isThere = page !== undefined && (hash === undefined || page.includes(` id="${hash}"`));
        if (!isThere) wrong.push(`${address}: ${href}`);
      }
    expect(wrong).toEqual([]);
  });

  it('shows where one is, what is on the page, and every page that there is', () => {
    const page = pages.get('/docs/caching') ?? '';
    expect(page).toContain('<a href="/docs/caching" aria-current="page">Caching</a>');
    expect(page).toContain('aria-label="On this page"');
    for (const name of names.filter((one) => !one.startsWith('adr/0')))
      expect(page).toContain(`href="${addressOfPage(name)}"`);
  });

  it.each(['nothing', 'adr/nothing', '..%2fCHANGELOG', 'constructor', 'errors.md'])(
    'has no page %s',
    async (name) => {
      expect((await gateway.data.inject(`/docs/${name}`)).statusCode).toBe(404);
    },
  );

  it('is found from the start, and from the page of an error', async () => {
    const start = await gateway.data.inject({ url: '/', headers: { accept: 'text/html' } });
    expect(start.body).toContain('<a href="/docs">');
    expect(pages.get('/docs/errors/invalid_query')).toContain('<a href="/docs/first-steps">');
  });
});
