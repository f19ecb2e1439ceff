/** Settings as a tree of mappings, as YAML gives it: known names are looked up, never inherited. */
import type { SchemaNode } from './settings.js';

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
