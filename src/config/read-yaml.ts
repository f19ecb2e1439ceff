/** The YAML of settings, as a tree; what it must hold is decided elsewhere. */
import { existsSync, readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import type { Environment } from './rules.js';
import type { Tree } from './tree.js';
import { decodeUtf8 } from './utf8.js';

/** Where the YAML is sought when `GATEWAY_CONFIG` names none. */
const DEFAULT_CONFIG_PATH = 'config/default.yaml';

/**
 * @param faults takes a line when the file cannot be read
 * @returns an empty tree then, and `source` null when there is no file at all
 */
export function readYaml(env: Environment, faults: string[]): { tree: Tree; source: string | null } {
  const named = env.GATEWAY_CONFIG || undefined;
  const path = named ?? DEFAULT_CONFIG_PATH;
  if (named === undefined && !existsSync(path)) return { tree: {}, source: null };
  try {
    return { tree: parseTree(decodeUtf8(readFileSync(path))), source: path };
  } catch (error) {
    faults.push(
      `GATEWAY_CONFIG: was ${path}; allowed is a readable YAML file of settings (${(error as Error).message})`,
    );
    return { tree: {}, source: null };
  }
}

/** The parser's own messages quote the file, which may hold secrets; its codes and places do not. */
function parseTree(text: string): Tree {
  const document = parseDocument(text);
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) {
    const place = fault.linePos?.[0];
    throw new Error(
      `${fault.code.toLowerCase().replaceAll('_', ' ')} at line ${place?.line}, column ${place?.col}`,
    );
  }
  const parsed = toPlain(document) ?? {};
  if (typeof parsed !== 'object' || Array.isArray(parsed)) {
    throw new Error('the file must hold a mapping of settings');
  }
  return parsed as Tree;
}

function toPlain(document: { toJS(): unknown }): unknown {
  try {
    return document.toJS();
  } catch {
    throw new Error('an alias (*) that nothing defines; quote text that starts with *');
  }
}
