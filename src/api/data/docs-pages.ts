/** The documentation pages, which `npm run build:program` writes; search in them, and what a browser sees where there is none. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import { PACKAGE_ROOT } from '../../lib/package-root.js';
import { writeNoPage } from './docs-near.js';
import { attribute, createSearch, escapeHtml, type Section } from './docs-search.js';

const WRITTEN = new URL('dist/pages/', PACKAGE_ROOT);

/** In the page without text, `all/frame.html`: where its title and its text belong. */
export const FRAME = { title: '{{title}}', text: '{{text}}' };

/** The beginning of the field of the search. */
export const FIELD = '<input type="search" name="q"';

export function sendPage(reply: FastifyReply, html: string, policy: string): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .headers({ 'cache-control': 'no-store', 'content-security-policy': policy })
    .header('x-content-type-options', 'nosniff')
    .send(html);
}

export function wantsPage({ headers }: FastifyRequest): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? '');
}

/** @param written the folder of the pages, as `npm run build:program` writes them */
export function registerPages(app: FastifyInstance, admin: boolean, written = WRITTEN): void {
  const read = (path: string) => readPage(path, admin, written);
  const frame = createFrame(read);
  for (const path of ['/docs', '/docs/:page', '/docs/adr/:page', '/docs/errors/:page'])
    app.get<{ Params: { page?: string } }>(path, { schema: { hide: true } }, async (request, reply) => {
      const page = request.params.page ?? '';
      // The page above, written with a slash.
      if (request.params.page === '') return reply.redirect(path.slice(0, -'/:page'.length));
      const html = /^[\w-]*$/.test(page) ? await read(`${path.replace(':page', page)}.html`) : null;
      if (html !== null) return sendPage(reply, withOwnAddress(html, request, admin), policyOf(html));
      // Without built pages there is still the API reference.
      if (path === '/docs') return reply.redirect('/docs/api');
      return await noPage(request, reply);
    });
  app.get<{ Querystring: { q?: unknown } }>(
    '/docs/search',
    { schema: { hide: true } },
    async ({ query }, reply) => {
      const words = [query.q ?? ''].flat().join(' ');
      const title = words.trim() === '' ? 'Search' : `Search: ${words}`;
      const html = await frame(title, ({ search }) => search(words));
      // The title before the field has the words as well, but no `<` of theirs.
      const field = `${FIELD} value="${attribute(words)}"`;
      return sendPage(
        reply,
        html.replace(FIELD, () => field),
        policyOf(html),
      );
    },
  );
  app.get('/docs/*', { schema: { hide: true } }, async (request, reply) => await noPage(request, reply));

  async function noPage(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (!wantsPage(request)) throw new GatewayError('not_found');
    const path = request.url.split('?', 1)[0] as string;
    const html = await frame('No such page', ({ sections }) => writeNoPage(path, sections));
    reply.code(404).header('vary', 'accept');
    return sendPage(reply, html, policyOf(html));
  }
}

/** Host names, IP addresses, ports; nothing that has a meaning in HTML or in a shell. */
const HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d+)?$/i;

/**
 * Examples have the address at which the reader opened the page, so that they can be pasted. It is the reader's own word, and
 * shown to nobody else: pages are not cached.
 */
function withOwnAddress(html: string, { headers, protocol }: FastifyRequest, admin: boolean): string {
  const { host = '', 'x-forwarded-proto': forwarded } = headers;
  if (!HOST.test(host)) return html;
  const own = `${forwarded === 'https' ? 'https' : protocol}://${host}`;
  const example = `http://127.0.0.1:${admin ? 8081 : 8080}`;
  return html.replace(/<pre\b.*?<\/pre>/gs, (code) => code.replaceAll(example, () => own));
}

interface Contents {
  readonly sections: readonly Section[];
  readonly search: (query: string) => string;
}

/** Makes pages with the look of the others. */
function createFrame(read: (path: string) => Promise<string | null>) {
  let contents: Promise<Contents> | null = null;
  async function readContents(): Promise<Contents> {
    const texts = await Promise.all(['/sections.json', '/errors.json'].map(read));
    const sections = texts.flatMap((text) => JSON.parse(text ?? '[]') as readonly Section[]);
    return { sections, search: await createSearch(sections) };
  }
  /** @throws GatewayError `not_found` if the pages are not built */
  return async (title: string, textOf: (contents: Contents) => string): Promise<string> => {
    const html = await read('/frame.html');
    if (html === null) throw new GatewayError('not_found');
    contents ??= readContents();
    const text = textOf(await contents);
    // In one step: what a reader wrote may look like a place.
    return html.replace(/\{\{(title|text)\}\}/g, (_, place) =>
      place === 'title' ? escapeHtml(title) : text,
    );
  };
}

async function readPage(path: string, admin: boolean, written: URL): Promise<string | null> {
  for (const folder of ['all', admin ? 'admin' : 'data']) {
    const text = await readFile(new URL(`${folder}${path}`, written), 'utf8').catch(() => null);
    if (text !== null) return text;
  }
  return null;
}

/** Allows only the page's own style, by its hash, and its search. */
function policyOf(html: string): string {
  const style = /<style>([^<]*)<\/style>/.exec(html)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;
}
