/** The settings as they are in effect, and where each comes from; of secrets only that they are set. */
import { loadConfig, readYaml } from './load.js';
import type { Environment } from './rules.js';
import { listSettings, type Setting } from './settings.js';
import type { Tree } from './tree.js';

export interface EffectiveSetting {
  /** Place in the YAML. */
  readonly path: string;
  /** Its name in the environment; null: it has none. */
  readonly env: string | null;
  /** Of a secret: whether it is set. */
  readonly value: unknown;
  /** `default`, `environment`, or the file. */
  readonly from: string;
}

/** @throws ConfigError */
export function effectiveSettings(env: Environment): readonly EffectiveSetting[] {
  const config = loadConfig(env);
  const { tree, source } = readYaml(env, []);
  return listSettings().map((setting) => {
    const { path, env: name = null, secret } = setting;
    const set = name !== null && config.secrets.has(name);
    const value = secret
      ? set
        ? 'set, not shown'
        : undefined
      : withoutUser(at(config as unknown as Tree, path));
    return {
      path,
      env: name,
      value,
      from: sourceOf(setting, env, at(tree, path) === undefined ? null : source),
    };
  });
}

/** An address may hold a user and a password. */
function withoutUser(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\/\/[^/?#]*@/, '//…@') : value;
}

function sourceOf({ env: name, secret }: Setting, env: Environment, yaml: string | null): string {
  if (name !== undefined && env[name]) return 'environment';
  const file = secret && name !== undefined ? env[`${name}_FILE`] : undefined;
  return file || yaml || 'default';
}

function at(tree: Tree, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (node, name) => (typeof node === 'object' && node !== null ? (node as Tree)[name] : undefined),
      tree,
    );
}
