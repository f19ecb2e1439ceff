/** What a person and a tool read of the interface: /openapi.json, /docs, and a page for every error; and how pages are made. */
import { createHash } from 'node:crypto';
import { type FastifyInstance, fastify } from 'fastify';
import Type from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOf, addressOfPage, pageNames } from '../../docs/build/library.js';
import { renderMarkdown } from '../../docs/build/markdown.js';
import { sectionsOf } from '../../docs/build/sections.js';
import { registerDocs } from '../../src/api/data/docs.js';
import { pagesNear } from '../../src/api/data/docs-near.js';
import { registerPages } from '../../src/api/data/docs-pages.js';
import { createSearch, type Section } from '../../src/api/data/docs-search.js';
import { json } from '../../src/api/openapi/operation.js';
import { CATALOGUE } from '../../src/errors/catalogue.js';
import { withGateway } from '../support/start-gateway.js';

let app: FastifyInstance;
beforeAll(async () => {
  app = fastify();
  await registerDocs(app, {
    title: 'A gateway',
    description: 'What it does.',
    version: '1.2.3',
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    plane: { admin: false, tags: {}, callers: () => [], callerHeaders: [], further: [] },
  });
  const operation = { id: 'getThing', answers: { 200: json(Type.Object({})) } };
  const thing = { schema: { tags: ['things'], summary: 'One thing' }, config: { operation } };
  app.get('/tagged/:id', thing, async () => ({ unknown: 'member' }));
  app.get('/wild/*', async () => ({}));
  await app.ready();
});
afterAll(() => app.close());

const get = (url: string) => app.inject({ url });

it('describes tagged routes alone, each to be opened by any of the schemes', async () => {
  const document = (await get('/openapi.json')).json<Record<string, unknown>>();
  expect(document).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'A gateway', version: '1.2.3' },
    security: [{ bearer: [] }],
  });
  expect(Object.keys(document.paths as object)).toEqual(['/openapi.json', '/tagged/{id}']);
});

it('leads from a page with a slash at its end to the page', async () => {
  for (const page of ['/docs', '/docs/errors', '/docs/adr']) {
    const { statusCode, headers } = await get(`${page}/`);
    expect([page, statusCode, headers.location]).toEqual([page, 302, page]);
  }
});

it('shows the description under its own name, and lets the page load nothing from elsewhere', async () => {
  const { statusCode, headers, body } = await get('/docs/api');
  expect(statusCode).toBe(200);
  expect(body).toContain('<title>A gateway</title>');
  expect(headers['content-security-policy']).toContain("default-src 'self'");
  expect(headers['content-security-policy']).not.toMatch(/https?:|unsafe-eval|upgrade-insecure/);
  expect((await get('/docs/api/static/swagger-initializer.js')).body).toContain('"layout":"BaseLayout"');
});

it('the API reference follows the reader’s colours, fits a phone, and leads back to people’s pages and the documentation', async () => {
  const { body } = await get('/docs/api');
  for (const name of ['reference.css', 'reference.js'])
    expect(body).toContain(`/docs/api/static/theme/${name}"`);
  const script = (await get('/docs/api/static/theme/reference.js')).body;
  expect(script).toContain("matchMedia('(prefers-color-scheme: dark)')");
  expect(script).toContain("classList.toggle('dark-mode'");
  expect(script).toContain('width=device-width');
  const leads = (text: string) => [...text.matchAll(/href=\\?"([^"\\]+)/g)].map(([, to]) => to);
  expect(leads(script)).toEqual(['/docs', '/explorer', '/docs', '/docs/first-steps']);
  expect(script).toContain('ORIGIN/gateway/v1/me');
  const gateway = await withGateway();
  const ofAdmin = (await gateway.admin.inject('/docs/api/static/theme/reference.js')).body;
  expect(leads(ofAdmin)).toEqual(['/docs', '/', '/docs', '/docs/operations']);
  expect(ofAdmin).toContain('ORIGIN/admin/v1/status');
});

it('lists every error, and has a page for each, in HTML that holds no stray backquote', async () => {
  const list = (await get('/docs/errors')).body;
  for (const [code, { title }] of Object.entries(CATALOGUE)) {
    expect(list).toContain(`<a href="/docs/errors/${code}"><code>${code}</code></a>`);
    const { statusCode, headers, body } = await get(`/docs/errors/${code}`);
    expect({ code, statusCode, type: headers['content-type'] }).toEqual({
      code,
      statusCode: 200,
      type: 'text/html; charset=utf-8',
    });
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(body).toContain(`<h1>${title.replaceAll('&', '&amp;')}</h1>`);
    expect(body).not.toContain('`');
  }
  expect((await get('/docs/errors/invalid_query')).body).toContain('listed in <code>errors</code>, then');
  const statuses = [...list.matchAll(/<tr><td>(\w+)<\/td>/g)].map(([, status]) => status);
  expect(statuses).toEqual(statuses.toSorted());
  expect(list).toContain('<td data-head="What to do">Repeat without <code>only-if-cached</code>.</td>');
});

it('says of the error without a status of its own that it is the platform’s', async () => {
  expect((await get('/docs/errors/upstream_rejected')).body).toContain(
    'HTTP <code>4xx upstream_rejected</code>',
  );
  expect((await get('/docs/errors/upstream_error')).body).toContain('HTTP <code>502 upstream_error</code>');
});

it.each(Object.keys(CATALOGUE))(
  'has an example of %s, and a link to all errors in its head',
  async (code) => {
    const { body } = await get(`/docs/errors/${code}`);
    const example = /<pre[^>]*><code>([^<]*)<\/code>/.exec(body)?.[1] ?? '';
    const problem = JSON.parse(
      example.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
    );
    expect(problem).toMatchObject({
      type: `/docs/errors/${code}`,
      code,
      title: CATALOGUE[code as 'forbidden'].title,
    });
    if (code === 'invalid_query')
      expect(problem).toMatchObject({
        help: 'Send dateFrom as a calendar day as YYYY-MM-DD.',
        errors: [{ param: 'dateFrom' }],
      });
    expect(body).toMatch(/<header>.*<a href="\/docs\/errors">Errors<\/a><\/header>/);
  },
);

it('says of a code the status that it has on the plane', async () => {
  expect((await get('/docs/errors/invalid_body')).body).toContain('HTTP <code>400 invalid_body</code>');
  const gateway = await withGateway();
  const page = (await gateway.admin.inject('/docs/errors/invalid_body')).body;
  expect(page).toContain('HTTP <code>422 invalid_body</code>');
  const list = (await gateway.admin.inject('/docs/errors')).body;
  expect(list).toContain('<td>422</td><td><a href="/docs/errors/invalid_body">');
});

it.each(['nonsense', 'constructor', '__proto__', 'toString'])('has no page for %s', async (code) => {
  expect((await get(`/docs/errors/${code}`)).statusCode).toBe(404);
});

describe('a page that is none', () => {
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

  it.each([
    ['/docs/cache', '/docs/caching'],
    ['/docs/errors/upstream_timout', '/docs/errors/upstream_timeout'],
    ['/docs/first-step.md', '/docs/first-steps'],
    ['/docs/a/b/limits', '/docs/limits'],
  ])('leads a browser from %s to the index and to %s', async (url, near) => {
    const { statusCode, headers, body } = await app.inject({ url, headers: browser });
    expect([statusCode, headers['content-type'], headers.vary]).toEqual([
      404,
      'text/html; charset=utf-8',
      'accept',
    ]);
    expect(headers['content-security-policy']).not.toContain('unsafe');
    const main = body.slice(body.indexOf('<main'));
    expect(main).toContain('<h1>No such page</h1>');
    expect(main).toContain(`There is no page <code>${url}</code>.`);
    expect(main).toContain('<a href="/docs">');
    expect(main).toContain(`<a href="${near}">`);
  });

  it('shows its address as text', async () => {
    const { body } = await app.inject({ url: '/docs/a&b$&', headers: browser });
    expect(body).toContain('<code>/docs/a&amp;b$&amp;</code>');
  });

  it('is a problem document for others, as without built pages', async () => {
    const gateway = await withGateway();
    for (const accept of ['*/*', 'application/json', '']) {
      const { statusCode, headers } = await gateway.data.inject({
        url: '/docs/nothere',
        headers: { accept },
      });
      expect([statusCode, headers['content-type']]).toEqual([404, 'application/problem+json; charset=utf-8']);
    }
    const bare = fastify();
    registerPages(bare, false, new URL('file:///nowhere/'));
    for (const url of ['/docs/nothere', '/docs/search?q=x'])
      expect((await bare.inject({ url, headers: browser })).body).not.toContain('<html');
  });

  it('has at most five near pages, the most similar name first, and none without a name', () => {
    const page = (address: string): Section => ({ address, page: 'P', heading: '', text: '', code: '' });
    const pages = ['/docs/settings', '/docs/setting', '/docs/caching', '/docs/set-a', '/docs/set-b'].map(
      page,
    );
    expect(pagesNear('/docs/settin', pages).map(({ address }) => address)).toEqual([
      '/docs/setting',
      '/docs/settings',
    ]);
    expect(pagesNear('/docs//', pages)).toEqual([]);
    expect(pagesNear('/docs/zzz', pages)).toEqual([]);
  });
});

describe('the search of the documentation', () => {
  const search = async (query: string) => (await get(`/docs/search?${query}`)).body;

  it('begins in the head of every page, and offers headings while somebody types, without a script', async () => {
    for (const url of ['/docs', '/docs/caching', '/docs/errors/not_found', '/docs/search']) {
      const { body, headers } = await get(url);
      expect(body).toMatch(/<form role="search" action="\/docs\/search"><input type="search" name="q"/);
      expect(body).toMatch(/<datalist id="words">.*<option>pentest<option>.*<\/datalist><\/form>/);
      expect(headers['content-security-policy']).toContain("form-action 'self'");
    }
  });

  it('leads to the section, the best first, with the words marked and still in the field', async () => {
    const body = await search('q=circuit%20open');
    expect(body).toContain('name="q" value="circuit open"');
    expect(body).toContain('<a href="/docs/errors/upstream_circuit_open">Platform calls suspended</a>');
    expect(body).toMatch(/<mark>circuit<\/mark>/);
    const first = /<ol class="found"><li><a href="([^"]+)">/.exec(await search('q=watch+a+report'))?.[1];
    expect(first).toBe('/docs/final#watch-a-report');
  });

  it('finds the status of an error as it is on the plane', async () => {
    const gateway = await withGateway();
    const url = '/docs/search?q=invalid_body+422';
    const [onData, onAdmin] = [await gateway.data.inject(url), await gateway.admin.inject(url)];
    expect(onAdmin.body).toContain('href="/docs/errors/invalid_body"');
    expect(onData.body).not.toContain('href="/docs/errors/invalid_body"');
  });

  it('says what to do without words, and where nothing has all of them', async () => {
    expect(await search('')).toContain('Write one or more words');
    expect(await search('q=zzzzzz')).toContain('No section has <q>zzzzzz</q>.');
    expect(await search('q=caching&q=_totals&q=zzzzzz')).toMatch(
      /<q>zzzzzz<\/q>\.<\/p>.*\d+ sections? found/s,
    );
    expect(await search('q=python+invoice+excel')).toMatch(
      /No section has all of these words; \d+ sections found with some/,
    );
  });

  it('shows for a word with a wrong letter what another one has, and leads to it', async () => {
    expect(await search('q=totls')).toMatch(/<ol class="found"><li><a href="\/docs\/first-steps#/);
    const body = await search('q=totls+of+campains');
    expect(body).toContain(
      'No section has <q>totls</q>: did you mean <a href="/docs/search?q=totals%20of%20campains">totals</a>?',
    );
    expect(body).toContain('<q>campains</q>: did you mean');
    expect(body).toContain('<mark>totals</mark>');
    expect(body).toContain('<mark>campaigns</mark>');
  });

  it.each([
    ['totals', '/docs/first-steps#the-first-report'],
    ['retry-after', '/docs/first-steps#errors'],
    ['age header', '/docs/first-steps#headers'],
    ['csv excel umlaut', '/docs/first-steps#the-first-report'],
    ['webhook', '/docs/changes'],
    ['forbidden', '/docs/errors/advertiser_forbidden'],
    ['403', '/docs/errors/scope_missing'],
  ])('has for "%s" among the first four: %s', async (words, address) => {
    const body = await search(`q=${encodeURIComponent(words)}`);
    const list = body.slice(body.indexOf('<ol class="found">'));
    const found = [...list.matchAll(/<li><a href="([^"]+)"/g)].map(([, to]) => to);
    expect(found.slice(0, 4)).toContain(address);
  });

  it.each([
    ['getting started', '/docs/first-steps'],
    ['Quickstart', '/docs/first-steps'],
    ['lost key', '/docs/operations#teams-and-keys'],
    ['rotate', '/docs/operations#rotation'],
    ['rotate key', '/docs/operations#teams-and-keys'],
    ['timezone', '/docs/caching#how-long'],
    ['time  zone', '/docs/caching#how-long'],
    ['rate limit', '/docs/limits'],
    ['sso', '/docs/sign-in'],
    ['login', '/docs/sign-in'],
    ['excel', '/docs/clients#excel'],
    ['price', '/docs/costs#what-it-costs'],
    ['cost', '/docs/costs'],
    ['gdpr', '/docs/stored#personal-data'],
    ['personal data', '/docs/stored#personal-data'],
    ['data residency', '/docs/stored#personal-data'],
    ['docker', '/docs/compose'],
    ['lost keys', '/docs/operations#teams-and-keys'],
    ['how long is data cached', '/docs/caching#what-is-cached'],
    ['how do I know the data is stale', '/docs/caching#cache-status'],
    ['feed of changes', '/docs/changes'],
    ['POST body', '/docs/first-steps#everything-else'],
    ['pagination', '/docs/caching#answers-that-do-not-match-the-request'],
    ['paginate', '/docs/caching#answers-that-do-not-match-the-request'],
    ['Authentication', '/docs/first-steps#what-may-i-do'],
    ['how do I authenticate', '/docs/first-steps#what-may-i-do'],
    ['watching reports', '/docs/final#watch-a-report'],
    ['python', '/docs/clients#python'],
    ['which platforms', '/docs/decide#which-platforms'],
    ['is it for our platform', '/docs/decide#which-platforms'],
    ['supported platforms', '/docs/decide#which-platforms'],
    ['support', '/docs/decide#support-sla-roadmap'],
    ['SLA', '/docs/decide#support-sla-roadmap'],
    ['roadmap', '/docs/decide#support-sla-roadmap'],
    ['pen test', '/docs/security#pen-test-and-outside-review'],
    ['pentest', '/docs/security#pen-test-and-outside-review'],
    ['on-call', '/docs/costs#what-it-costs'],
    ['rot', '/docs/operations#rotation'],
    ['how to report a vulnerability', '/docs/security#how-to-report-a-vulnerability'],
    ['npm audit', '/docs/security#known-faults-of-packages'],
    ['CVE', '/docs/security#known-faults-of-packages'],
    ['TCO', '/docs/costs#what-it-costs'],
    ['RPO', '/docs/outages'],
    ['RTO', '/docs/outages'],
    ['availability', '/docs/outages'],
    ['single point of failure', '/docs/outages'],
    ['disaster recovery', '/docs/outages'],
    ['compliance', '/docs/security#pen-test-and-outside-review'],
    ['vendor', '/docs/decide#support-sla-roadmap'],
    ['rollback', '/docs/upgrade#go-back'],
    ['exit strategy', '/docs/decide#to-leave-it'],
    ['alternatives', '/docs/decide#a-nightly-load-instead'],
  ])('answers "%s" with %s first', async (words, address) => {
    const body = await search(`q=${encodeURIComponent(words)}`);
    expect(/<ol class="found"><li><a href="([^"]+)"/.exec(body)?.[1]).toBe(address);
    expect(body).not.toContain('No section has');
  });

  it('ranks whole words before parts, words in headings and code before others, and pages for apps before the rest', async () => {
    const of = (page: string, heading: string, code: string, text: string) => ({
      address: `/docs/${page}`,
      page,
      heading,
      code,
      text,
    });
    const find = await createSearch([
      of('adr/1', 'words', '', 'the word'),
      of('size-it', 'wordsmith', '', 'text'),
      of('other', 'Words', '', ''),
      of('decide', 'x', 'a.word=1', ''),
      of('trial', 'x', '', 'word'),
      of('clients', 'x', '', 'words'),
      of('limits', 'swordfish', '', 'x'),
    ]);
    const found = [...find('word').matchAll(/href="\/docs\/([^"]+)"/g)].map(([, page]) => page);
    expect(found[0]).toBe('other');
    expect(found.indexOf('decide')).toBeLessThan(found.indexOf('size-it'));
    expect(found.indexOf('decide')).toBeLessThan(found.indexOf('trial'));
    expect(found.indexOf('clients')).toBeLessThan(found.indexOf('trial'));
    expect(found).not.toContain('limits');
  });

  it('shows what was written as text', async () => {
    const body = await search(`q=${encodeURIComponent('"><b>name="q" {{text}} $&')}`);
    expect(body).toContain('name="q" value="&quot;&gt;&lt;b&gt;name=&quot;q&quot; {{text}} $&amp;"');
    expect(body).not.toContain('<b>');
  });

  it('counts all sections, and shows thirty', async () => {
    const sections = Array.from({ length: 31 }, (_, at) => ({
      address: `/docs/p#${at}`,
      page: 'P',
      heading: `h${at}`,
      text: 'a (word) & more',
      code: '',
    }));
    const html = (await createSearch(sections))('(WORD)');
    expect(html).toContain('31 sections found; the best 30 are shown.');
    expect(html.match(/<li>/g)).toHaveLength(30);
    expect(html).toContain('a (<mark>word</mark>) &amp; more');
    const long = {
      address: '/docs/p',
      page: 'P',
      heading: '',
      text: `${'x '.repeat(200)}found ${'y '.repeat(200)}`,
      code: '',
    };
    expect((await createSearch([long]))('found')).toMatch(/<p>… (x )+<mark>found<\/mark>( y)+ …<\/p>/);
  });

  it('takes a page apart at its headings, as plain text', () => {
    const html =
      '<p>a &amp; <code>b</code> <code>b</code></p><h2 id="x"><a href="#x">The <code>x</code></a></h2><p>c</p><pre><code>d</code></pre>';
    expect(sectionsOf('/docs/p', 'P', html)).toEqual([
      { address: '/docs/p', page: 'P', heading: '', text: 'a & b b', code: 'b' },
      { address: '/docs/p#x', page: 'P', heading: 'The x', text: 'c d', code: '' },
    ]);
  });
});

describe('markdown', () => {
  const toNowhere = () => null;

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

  it('shows a drawing as it is, and takes its style for that of the page', () => {
    const drawing = '<svg><title>t</title><style>.a{fill:red}</style><rect class="a"/></svg>';
    const { html, style } = renderMarkdown('![words](a.svg)', toNowhere, () => drawing);
    expect(html).toBe('<p><svg><title>t</title><rect class="a"/></svg></p>\n');
    expect(style).toBe('.a{fill:red}');
  });

  it('writes code as it stands, and tables that scroll by themselves, without an empty head', () => {
    const { html } = renderMarkdown('```sh\ncurl "a&b"\n```\n\n| | |\n|---|--:|\n| a | `b` |', toNowhere);
    expect(html).toContain('<pre tabindex="0" data-lang="sh"><code>curl "a&amp;b"\n</code></pre>');
    expect(html).toContain('<tbody><tr><td>a</td><td class="right"><code>b</code></td></tr></tbody>');
    expect(html).not.toContain('<thead>');
  });

  it('names the column in each cell of a table of texts, which a phone shows below each other', () => {
    const long = 'a sentence that does not fit beside two others on a phone, whatever its font';
    const rendered = (row: string, line = '|---|---|---|') =>
      renderMarkdown(`| What | \`How\` | |\n${line}\n${row}`, toNowhere).html;
    expect(rendered(`| a | ${long} | c |`)).toContain(
      `<tr><td>a</td><td data-head="How">${long}</td><td>c</td></tr>`,
    );
    expect(rendered(`| a | ${long} | c |`)).toContain('<table class="stacked">');
    expect(rendered('| a | b | c |')).not.toMatch(/stacked|data-head/);
    expect(rendered(`| a | ${long} | 3 |`, '|---|---|--:|')).not.toMatch(/stacked|data-head/);
    const days = renderMarkdown(
      `| What | By | Time | Days |\n|---|---|---|--:|\n| a | b | ${long} | 3 |`,
      toNowhere,
    );
    expect(days.html).toContain(`<td data-head="Time">${long}</td><td class="right" data-head="Days">3</td>`);
  });
});

it('links of a page lead to the addresses of the reader', () => {
  const names = ['index.md', 'caching.md', 'adr/index.md', 'adr/0001-fastify.md', '../CHANGELOG.md'];
  expect(names.map(addressOfPage)).toEqual([
    '/docs',
    '/docs/caching',
    '/docs/adr',
    '/docs/adr/0001-fastify',
    '/docs/changelog',
  ]);
  const from = (name: string, href: string) => addressOf(name, href, names);
  expect(from('adr/index.md', '0001-fastify.md')).toBe('/docs/adr/0001-fastify');
  expect(from('adr/0001-fastify.md', '../caching.md#days')).toBe('/docs/caching#days');
  expect(from('index.md', 'errors.md')).toBe('/docs/errors');
  expect(from('index.md', '#here')).toBe('#here');
  expect(from('adr/0001-fastify.md', '../../CHANGELOG.md')).toBe('/docs/changelog');
  expect(from('../CHANGELOG.md', 'docs/caching.md#days')).toBe('/docs/caching#days');
  expect(from('index.md', '../CONTRIBUTING.md')).toBeNull();
  expect(from('index.md', 'https://example.com/')).toBe('https://example.com/');
});

it('examples have the address at which the reader opened the page, if it is one, and nobody keeps the page', async () => {
  const gateway = await withGateway();
  const shown = async (headers: Record<string, string>, path = '/docs/first-steps', plane = gateway.data) => {
    const reply = await plane.inject({ url: path, headers });
    expect(reply.headers['cache-control']).toBe('no-store');
    return /(?:GATEWAY|ADMIN)=(\S+)/.exec(reply.body)?.[1];
  };
  const proxied = { host: 'reports.example', 'x-forwarded-proto': 'https' };
  expect(await shown({ host: 'reports.example:8443' })).toBe('http://reports.example:8443');
  expect(await shown(proxied)).toBe('https://reports.example');
  expect(await shown({ host: '[::1]:9' })).toBe('http://[::1]:9');
  for (const host of ['"><script>', 'a b', '$(reboot)', "x';ls"])
    expect(await shown({ host })).toBe('http://127.0.0.1:8080');
  expect(await shown({ host: 'ops.example' }, '/docs/operations', gateway.admin)).toBe(
    'http://ops.example/admin/v1',
  );
});

it('without its pages there is the interface', async () => {
  const bare = fastify();
  registerPages(bare, false, new URL('file:///nowhere/'));
  const { statusCode, headers } = await bare.inject('/docs');
  expect([statusCode, headers.location]).toEqual([302, '/docs/api']);
});

it('every page is on both planes, under a policy that lets it load nothing at all', async () => {
  const gateway = await withGateway();
  const names = pageNames();
  expect(names.length).toBeGreaterThan(20);
  for (const address of [...names.map(addressOfPage), '/docs/errors'])
    for (const plane of [gateway.data, gateway.admin]) {
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
  for (const name of ['nothing', 'adr/nothing', '..%2fCHANGELOG', 'constructor', 'errors.md'])
    expect([name, (await gateway.data.inject(`/docs/${name}`)).statusCode]).toEqual([name, 404]);
});
