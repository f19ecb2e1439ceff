/** Completes the generated OpenAPI document by the `config.operation` of routes, and by common parts. */
import { RESPONSE_HEADERS } from './headers.js';
import { hoistNamed } from './hoist.js';
import type { Operation } from './operation.js';
import type { Plane } from './plane.js';
import { asHead, described, type Generated, type Written, writeOperation } from './write-operation.js';

/** Passes the operation through the generator. */
export const CARRIER = 'x-operation';

interface Carrier {
  readonly [CARRIER]?: Operation;
}

type Paths = Record<string, Record<string, Generated & Carrier>>;

/** @throws Error if a route does not describe its answers, or two schemas have the same name */
export function complete<T extends object>(generated: T, plane: Plane): T {
  const document = structuredClone(generated) as T & { paths?: Paths; components?: object };
  const paths: Record<string, Record<string, Written>> = {};
  const ids = new Set<string>();
  for (const [path, method, { [CARRIER]: operation, ...shown }] of callsOf(document.paths ?? {}, plane)) {
    if (operation === undefined)
      throw new Error(
        `${method.toUpperCase()} ${path} does not describe its answers: give it config.operation`,
      );
    const one = { ...operation, id: freeId(operation.id, ids) };
    const written = writeOperation({ path, method, shown, operation: one }, plane);
    paths[path] = {
      ...paths[path],
      [method]: method === 'head' ? asHead(written) : written,
    };
  }
  // `info` says it of every GET, so that a reader does not meet each twice.
  for (const item of Object.values(paths)) if (item.get !== undefined) delete item.head;
  const all = Object.values(paths).flatMap((item) => Object.values(item));
  const used = new Set(all.flatMap(({ tags }) => tags));
  const tags = Object.entries(plane.tags).filter(([name]) => used.has(name));
  return hoistNamed({
    ...document,
    // The server of the document.
    servers: [{ url: '/', description: 'This gateway.' }],
    tags: tags.map(([name, description]) => ({ name, description })),
    paths,
    components: { ...document.components, headers: usedHeaders(all) },
  });
}

function callsOf(paths: Paths, { further }: Plane): [path: string, method: string, Generated & Carrier][] {
  return [
    ...Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, one]): [string, string, Generated & Carrier] => [path, method, one]),
    ),
    ...further.map(({ method, path, tag, summary, operation }): [string, string, Generated & Carrier] => [
      path,
      method.toLowerCase(),
      { tags: [tag], summary, [CARRIER]: operation },
    ]),
  ];
}

/** Ids made from paths may collide: those of `a.b` and `a/b` do. */
function freeId(wanted: string, ids: Set<string>): string {
  let id = wanted;
  for (let next = 2; ids.has(id); next += 1) id = `${wanted}${next}`;
  ids.add(id);
  return id;
}

function usedHeaders(operations: readonly Written[]): object {
  const used = new Set(
    operations.flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ headers }) => Object.keys(headers)),
    ),
  );
  const headers = Object.entries(RESPONSE_HEADERS).filter(([name]) => used.has(name));
  return Object.fromEntries(headers.map(([name, schema]) => [name, described(schema)]));
}
