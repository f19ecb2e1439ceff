/** The documentation in a running gateway, to be read where there is no network but this. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { GatewayError } from '../../errors.js';
import { type ReaderPage, readerPage, type Shelf, sendReaderPage } from './layout.js';
import { addressOfPage, type Library, openLibrary } from './library.js';

export interface Reader {
  register(app: FastifyInstance): void;
  /** A page that is not made from a file. */
  send(reply: FastifyReply, page: ReaderPage): FastifyReply;
}

/** In which order pages stand; those that are not named here follow. */
const SHELVES: readonly (readonly [title: string, names: readonly string[]])[] = [
  [
    'Use it',
    ['index', 'first-steps', 'clients', 'contract', 'caching', 'history', 'finality', 'truth', 'limits'],
  ],
  [
    'Run it',
    [
      'operations',
      'cli',
      'settings',
      'metrics',
      'kubernetes',
      'compose',
      'performance',
      'security',
      'simulator',
      'licences',
    ],
  ],
  ['Change it', ['architecture', 'adr/index']],
];
const FIRST = '/docs';
const OWN = [
  { address: '/docs/api', title: 'API reference' },
  { address: '/docs/errors', title: 'Errors' },
];

/** @param open what comes with the gateway; read when the first page is asked for, since most processes show none */
export function openReader(open: () => Library = openLibrary): Reader {
  let opened: OpenReader | undefined;
  const books = () => {
    opened ??= readAll(open());
    return opened;
  };
  return {
    send: (reply, page) => sendReaderPage(reply, readerPage(page, books().shelves)),
    register(app) {
      const options = { schema: { hide: true } };
      app.get(FIRST, options, async (_request, reply) =>
        // Without its files there are the interface and the errors.
        books().names.has(FIRST) ? sendReaderPage(reply, books().pageAt(FIRST)) : reply.redirect('/docs/api'),
      );
      for (const folder of ['', '/adr'])
        app.get(`${FIRST}${folder}/:page`, options, async (request, reply) => {
          const { page } = request.params as { page: string };
          return sendReaderPage(reply, books().pageAt(`${FIRST}${folder}/${page}`));
        });
    },
  };
}

interface OpenReader {
  readonly shelves: readonly Shelf[];
  /** Files by address. */
  readonly names: ReadonlyMap<string, string>;
  /** @throws GatewayError `not_found` */
  pageAt(address: string): string;
}

function readAll(library: Library): OpenReader {
  const shelves = shelvesOf(library);
  const names = new Map(library.names.map((name) => [addressOfPage(name), name]));
  const made = new Map<string, string>();
  return {
    shelves,
    names,
    pageAt(address) {
      const known = made.get(address);
      if (known !== undefined) return known;
      const name = names.get(address);
      if (name === undefined) throw new GatewayError('not_found');
      const page = readerPage({ address, ...library.page(name) }, shelves);
      made.set(address, page);
      return page;
    },
  };
}

function shelvesOf({ names, titleOf }: Library): readonly Shelf[] {
  const place = (name: string) => ({ address: addressOfPage(name), title: titleOf(name) });
  const named = SHELVES.map(([title, wanted]) => ({
    title,
    places: wanted
      .map((name) => `${name}.md`)
      .filter((name) => names.includes(name))
      .map(place),
  }));
  const known = SHELVES.flatMap(([, wanted]) => wanted.map((name) => `${name}.md`));
  const further = names.filter((name) => !name.startsWith('adr/') && !known.includes(name)).map(place);
  const shelves = named.map((shelf, at) =>
    at === 0 ? { title: shelf.title, places: [...shelf.places, ...OWN] } : shelf,
  );
  return [...shelves, { title: 'More', places: further }].filter(({ places }) => places.length > 0);
}
