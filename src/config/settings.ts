/** The schema, flattened: one row per setting. Serves the loader, the docs table and `config/default.yaml`. */
import type { TSchema } from 'typebox';
import { ConfigSchema, type SettingNotes } from './schema.js';

export interface Setting extends SettingNotes {
  /** Place in the YAML, e.g. `server.port`. */
  readonly path: string;
  readonly schema: SchemaNode;
}

/** The parts of a JSON Schema node that are read here. */
export interface SchemaNode extends SettingNotes {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly minItems?: number;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
}

/** What is read from the environment alone, before or beside the settings. */
export const OUTSIDE = [
  [
    'GATEWAY_CONFIG',
    '`config/default.yaml`, if it is there',
    'The YAML file of settings.',
    'a readable file',
  ],
  ['HTTPS_PROXY', '–', 'Proxy for https:// platforms; https_proxy wins.', 'an http:// or https:// address'],
  ['HTTP_PROXY', '–', 'Proxy for http:// platforms; http_proxy wins.', 'an http:// or https:// address'],
  ['NO_PROXY', '–', 'Hosts that are asked without the proxy; no_proxy wins.', 'names, separated by commas'],
  ['NODE_EXTRA_CA_CERTS', '–', 'Further certificate authorities, for the platform and Redis.', 'a PEM file'],
] as const;

/** All settings in the schema's order; groups are walked, lists and maps are one setting each. */
export function listSettings(root: TSchema = ConfigSchema): Setting[] {
  const found: Setting[] = [];
  const walk = (node: SchemaNode, path: string) => {
    if (node.properties && path.split('.').length <= 3) {
      for (const [name, child] of Object.entries(node.properties)) {
        walk(child, path === '' ? name : `${path}.${name}`);
      }
      return;
    }
    found.push({
      path,
      schema: node,
      ...(node.env === undefined ? {} : { env: node.env }),
      ...(node.secret === undefined ? {} : { secret: node.secret }),
      ...(node.shownDefault === undefined ? {} : { shownDefault: node.shownDefault }),
    });
  };
  walk(root as SchemaNode, '');
  return found;
}

/** Settings of each entry of a list or map, e.g. `report.endpoints.*.rowsAt`, but for those whose name says it all. */
export function listMembers({ path, schema }: Setting): Setting[] {
  const entry = schema.items ?? Object.values(schema.patternProperties ?? {})[0];
  return Object.entries(entry?.properties ?? {})
    .filter(([, child]) => child.description !== undefined)
    .map(([name, child]) => ({ path: `${path}.*.${name}`, schema: child }));
}

/** The schema node of a place in a value, e.g. `routes`, `0`, `method`. */
export function schemaAt(path: readonly string[]): SchemaNode | undefined {
  return path.reduce<SchemaNode | undefined>(childOf, ConfigSchema as SchemaNode);
}

function childOf(node: SchemaNode | undefined, name: string): SchemaNode | undefined {
  if (node?.properties !== undefined)
    return Object.hasOwn(node.properties, name) ? node.properties[name] : undefined;
  if (node?.items !== undefined) return node.items;
  // Names that do not match are no settings: there is one pattern for the names of each map.
  const [pattern, child] = Object.entries(node?.patternProperties ?? {})[0] ?? [];
  return pattern !== undefined && new RegExp(pattern).test(name) ? child : undefined;
}

/** What a setting may be, in words, e.g. `a whole number from 0 to 65535`. */
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

// Settings as a tree of mappings, as YAML gives it: known names are looked up, never inherited.

export type Tree = Record<string, unknown>;

/** A name with nothing after it is not set, be it a group or a setting. Unknown names stay, to be refused. */
export function dropEmpty(tree: Tree, node: SchemaNode): void {
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const value = Object.hasOwn(tree, name) ? tree[name] : undefined;
    if (value === null) delete tree[name];
    else if (isMapping(value)) dropEmpty(value, child);
  }
}

function isMapping(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Sets a value in the tree; where something else stands in the place of a group, that is left to be refused. */
export function put(tree: Tree, path: string, value: unknown): void {
  const names = path.split('.');
  let node = tree;
  for (const name of names.slice(0, -1)) {
    if (!Object.hasOwn(node, name)) node[name] = {};
    const next = node[name];
    if (!isMapping(next)) return;
    node = next;
  }
  node[names.at(-1) as string] = value;
}

/** Removes a value from the tree. @returns it, or undefined when it is not there */
export function take(tree: Tree, path: string): unknown {
  const names = path.split('.');
  let node: unknown = tree;
  for (const name of names.slice(0, -1)) {
    if (!isMapping(node) || !Object.hasOwn(node, name)) return undefined;
    node = node[name];
  }
  const last = names.at(-1) as string;
  if (!isMapping(node) || !Object.hasOwn(node, last)) return undefined;
  const value = node[last];
  delete node[last];
  return value;
}

/** @returns the value in the tree, or undefined when it is not there */
export function at(tree: Tree, path: string): unknown {
  let node: unknown = tree;
  for (const name of path.split('.'))
    node = isMapping(node) && Object.hasOwn(node, name) ? node[name] : undefined;
  return node;
}
