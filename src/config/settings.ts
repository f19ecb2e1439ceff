/** The schema as a flat list of settings, and helpers for settings as a tree. */
import { type Form, valueAt } from '../lib/faults.js';
import { isObject } from '../lib/json.js';
import { ConfigSchema } from './schema.js';
import type { SettingNotes } from './setting-types.js';

export interface Setting extends SettingNotes {
  /** Path in the YAML, e.g. `server.port`. */
  readonly path: string;
  readonly schema: SchemaNode;
}

export interface SchemaNode extends Form, SettingNotes {
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
}

/** Environment variables that are not settings: name, default, description, allowed values. */
export const OUTSIDE = [
  ['GATEWAY_CONFIG', '`config/default.yaml`, if present', 'YAML file of settings.', 'a readable file'],
  [
    'HTTPS_PROXY',
    '–',
    'Proxy for https:// platforms; https_proxy takes precedence.',
    'an http:// or https:// address',
  ],
  [
    'HTTP_PROXY',
    '–',
    'Proxy for http:// platforms; http_proxy takes precedence.',
    'an http:// or https:// address',
  ],
  ['NO_PROXY', '–', 'Hosts not proxied; no_proxy takes precedence.', 'comma-separated names'],
  ['NODE_EXTRA_CA_CERTS', '–', 'Further certificate authorities for the platform and Redis.', 'a PEM file'],
] as const;

/** All settings in schema order. A list or map counts as one setting. */
export function listSettings(): Setting[] {
  return settingsIn(ConfigSchema as SchemaNode, []);
}

function settingsIn(schema: SchemaNode, names: readonly string[]): Setting[] {
  const { properties, env, secret, shownDefault } = schema;
  if (properties && names.length <= 3)
    return Object.entries(properties).flatMap(([name, child]) => settingsIn(child, [...names, name]));
  return [
    {
      path: names.join('.'),
      schema,
      ...(env === undefined ? {} : { env }),
      ...(secret === undefined ? {} : { secret }),
      ...(shownDefault === undefined ? {} : { shownDefault }),
    },
  ];
}

/** Described members of the items of a list or map, e.g. `report.endpoints.*.rowsAt`. */
export function listMembers({ path, schema }: Setting): Setting[] {
  const entry = schema.items ?? Object.values(schema.patternProperties ?? {})[0];
  return Object.entries(entry?.properties ?? {})
    .filter(([, child]) => child.description !== undefined)
    .map(([name, child]) => ({ path: `${path}.*.${name}`, schema: child }));
}

/** The allowed values in words, e.g. `a whole number from 0 to 65535`. */
export function allowed(node: SchemaNode): string {
  if (node.allowed !== undefined) return node.allowed;
  if (node.enum) return `one of ${node.enum.join(', ')}`;
  if (node.type === 'integer') return `a whole number from ${node.minimum} to ${node.maximum}`;
  if (node.type === 'number') return `a number from ${node.minimum} to ${node.maximum}`;
  if (node.type === 'boolean') return '1, true, 0 or false';
  if (node.type === 'array') return node.minItems ? 'a list that is not empty' : 'a list';
  if (node.type === 'object') return 'a group of settings';
  if (node.pattern) return `text that matches ${node.pattern}`;
  return 'non-empty text';
}

/** Settings as parsed from YAML. */
export type Tree = Record<string, unknown>;

/** Removes known names with a null value, so that they count as unset. Unknown names stay and are refused later. */
export function dropEmpty(tree: Tree, node: SchemaNode): void {
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const value = Object.hasOwn(tree, name) ? tree[name] : undefined;
    if (value === null) delete tree[name];
    else if (isObject(value)) dropEmpty(value, child);
  }
}

/** Sets a value. If a group on the path is not a mapping, nothing is changed; it is refused later. */
export function put(tree: Tree, path: string, value: unknown): void {
  const names = path.split('.');
  let node = tree;
  for (const name of names.slice(0, -1)) {
    if (!Object.hasOwn(node, name)) node[name] = {};
    const next = node[name];
    if (!isObject(next)) return;
    node = next;
  }
  node[names.at(-1) as string] = value;
}

/** Removes a value and returns it. */
export function take(tree: Tree, path: string): unknown {
  const names = path.split('.');
  const group = valueAt(tree, names.slice(0, -1));
  const value = at(tree, path);
  if (isObject(group)) delete group[names.at(-1) as string];
  return value;
}

export function at(tree: object, path: string): unknown {
  return valueAt(tree, path.split('.'));
}
