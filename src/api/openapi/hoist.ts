/** Moves named parts to the components of the document, and replaces them by references. */

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Member with the name of an answer. Schemas are named by their `title`. */
export const NAME = 'x-name';

/**
 * @returns the document, its schemas with a title and its answers with a name among its components
 * @throws Error if two different ones have the same name
 */
export function hoistNamed<T extends object>(document: T): T {
  const { paths, components, ...others } = document as T & { paths: Json; components?: object };
  const schemas = new Map<string, Json>();
  const responses = new Map<string, Json>();
  const referring = hoist(paths, { schemas, responses });
  return {
    ...others,
    paths: referring,
    components: { ...components, responses: sorted(responses), schemas: sorted(schemas) },
  } as unknown as T;
}

type Kind = 'schemas' | 'responses';
type Named = Readonly<Record<Kind, Map<string, Json>>>;

function hoist(value: Json, named: Named): Json {
  if (Array.isArray(value)) return value.map((item) => hoist(item, named));
  if (typeof value !== 'object' || value === null) return value;
  const { [NAME]: answer, ...members } = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      // Examples are not schemas, but may have a member `title`.
      name === 'examples' && Array.isArray(member) ? member : hoist(member, named),
    ]),
  );
  // A property called `title` is an object.
  const { title } = members;
  if (typeof answer === 'string') return refer('responses', answer, members, named);
  return typeof title === 'string' ? refer('schemas', title, members, named) : members;
}

function refer(kind: Kind, name: string, value: Json, named: Named): Json {
  const known = named[kind].get(name);
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(value))
    throw new Error(`two ${kind} of the document are called ${name}`);
  named[kind].set(name, value);
  return { $ref: `#/components/${kind}/${name}` };
}

function sorted(all: ReadonlyMap<string, Json>): Record<string, Json> {
  return Object.fromEntries([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
}
