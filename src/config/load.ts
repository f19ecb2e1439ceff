/**
 * Settings from YAML and environment to one frozen value. The environment wins.
 *
 * Nothing else in the gateway reads the environment; every fault is collected, so that one failed start tells all.
 */
import { existsSync, readFileSync } from 'node:fs';
import Value from 'typebox/value';
import { parse } from 'yaml';
import { checkRules, type Environment } from './rules.js';
import { ConfigSchema, type ConfigValues } from './schema.js';
import { type FileSecret, fileSecret, fixedSecret, type Secret } from './secret.js';
import { allowed, listSettings, type SchemaNode, type Setting, schemaAt } from './settings.js';

export interface Config extends ConfigValues {
  /** Secrets by their environment name; absent when not set. The values in the groups are removed. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Those that come from files, to be re-read. */
  readonly fileSecrets: readonly FileSecret[];
  /** The YAML that was read, or null for none. */
  readonly source: string | null;
}

/** Thrown with one line per fault: the setting, what it was, what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

export interface ProxySettings {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy?: string;
}

/** The outbound proxy, by the names that every tool uses; lower case wins, as with curl. */
export function proxySettings(env: Environment): ProxySettings {
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY;
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY;
  const noProxy = env.no_proxy ?? env.NO_PROXY;
  return {
    ...(httpProxy ? { httpProxy } : {}),
    ...(httpsProxy ? { httpsProxy } : {}),
    ...(noProxy ? { noProxy } : {}),
  };
}

/** Where the YAML is sought when `GATEWAY_CONFIG` names none. */
export const DEFAULT_CONFIG_PATH = 'config/default.yaml';

/**
 * @param env the environment, usually `process.env`
 * @throws ConfigError
 */
export function loadConfig(env: Environment): Config {
  const faults: string[] = [];
  const { tree, source } = readYaml(env, faults);
  const secrets = new Map<string, Secret>();
  const fileSecrets: FileSecret[] = [];

  for (const setting of listSettings()) {
    if (setting.secret) takeSecret(setting, env, tree, secrets, fileSecrets, faults);
    else takeValue(setting, env, tree, faults);
  }
  // Twice: defaults inside of defaulted records are only reached the second time.
  const values = Value.Default(ConfigSchema, Value.Default(ConfigSchema, tree)) as ConfigValues;
  faults.push(...schemaFaults(values));
  if (faults.length === 0) faults.push(...checkRules(values, secrets, env));
  if (faults.length > 0) throw new ConfigError(faults);
  return deepFreeze({ ...values, secrets, fileSecrets, source });
}

type Tree = Record<string, unknown>;

function readYaml(env: Environment, faults: string[]): { tree: Tree; source: string | null } {
  const named = env.GATEWAY_CONFIG;
  const path = named ?? DEFAULT_CONFIG_PATH;
  if (named === undefined && !existsSync(path)) return { tree: {}, source: null };
  try {
    const parsed: unknown = parse(readFileSync(path, 'utf8')) ?? {};
    if (typeof parsed !== 'object' || Array.isArray(parsed) || parsed === null) {
      throw new Error('the file must hold a mapping of settings');
    }
    return { tree: parsed as Tree, source: path };
  } catch (error) {
    faults.push(
      `GATEWAY_CONFIG: was ${path}; allowed is a readable YAML file of settings (${(error as Error).message.split('\n')[0]})`,
    );
    return { tree: {}, source: null };
  }
}

function takeValue(setting: Setting, env: Environment, tree: Tree, faults: string[]): void {
  const raw = setting.env === undefined ? undefined : env[setting.env];
  if (raw === undefined || raw === '') return;
  const value = coerce(raw, setting.schema);
  if (value === undefined) {
    faults.push(`${setting.env}: was ${JSON.stringify(raw)}; allowed is ${allowed(setting.schema)}`);
  } else {
    put(tree, setting.path, value);
  }
}

/** @returns undefined when the text is not of the setting's kind. */
function coerce(raw: string, schema: SchemaNode): unknown {
  if (schema.type === 'integer') return /^-?[0-9]{1,15}$/.test(raw) ? Number(raw) : undefined;
  if (schema.type === 'boolean') {
    if (raw === '1' || raw === 'true') return true;
    return raw === '0' || raw === 'false' ? false : undefined;
  }
  return raw;
}

function takeSecret(
  setting: Setting,
  env: Environment,
  tree: Tree,
  secrets: Map<string, Secret>,
  fileSecrets: FileSecret[],
  faults: string[],
): void {
  const name = setting.env as string;
  const inYaml = take(tree, setting.path);
  const value = env[name] || undefined;
  const file = env[`${name}_FILE`] || undefined;
  if (value !== undefined && file !== undefined) {
    faults.push(`${name}: was set together with ${name}_FILE; allowed is one of the two`);
    return;
  }
  if (file !== undefined) {
    try {
      const secret = fileSecret(name, file);
      secrets.set(name, secret);
      fileSecrets.push(secret);
    } catch (error) {
      faults.push(
        `${name}_FILE: was ${file}; allowed is a readable, non-empty file (${(error as Error).message})`,
      );
    }
    return;
  }
  if (value !== undefined) secrets.set(name, fixedSecret(name, value));
  else if (typeof inYaml === 'string' && inYaml !== '') secrets.set(name, fixedSecret(name, inYaml));
  else if (inYaml !== undefined && inYaml !== null) {
    faults.push(`${setting.path}: was a ${typeof inYaml}; allowed is non-empty text`);
  }
}

function put(tree: Tree, path: string, value: unknown): void {
  const names = path.split('.');
  let node = tree;
  for (const name of names.slice(0, -1)) {
    const next = node[name];
    if (typeof next === 'object' && next !== null) node = next as Tree;
    else {
      const created: Tree = {};
      node[name] = created;
      node = created;
    }
  }
  node[names.at(-1) as string] = value;
}

function take(tree: Tree, path: string): unknown {
  const names = path.split('.');
  let node: unknown = tree;
  for (const name of names.slice(0, -1)) node = (node as Tree | undefined)?.[name];
  const last = names.at(-1) as string;
  if (typeof node !== 'object' || node === null || !(last in node)) return undefined;
  const value = (node as Tree)[last];
  delete (node as Tree)[last];
  return value;
}

function schemaFaults(values: ConfigValues): string[] {
  const byPlace = new Map<string, string>();
  for (const error of Value.Errors(ConfigSchema, values)) {
    if (error.keyword === 'additionalProperties') continue; // each one is also reported at its own place
    const missing = error.keyword === 'required' ? requiredNames(error.params) : [''];
    for (const name of missing) {
      const pointer = name === '' ? error.instancePath : `${error.instancePath}/${name}`;
      if (!byPlace.has(pointer)) byPlace.set(pointer, describeFault(pointer, values));
    }
  }
  return [...byPlace.values()];
}

function requiredNames(params: unknown): string[] {
  return (params as { requiredProperties?: string[] }).requiredProperties ?? [''];
}

function describeFault(pointer: string, values: ConfigValues): string {
  const path = pointer.slice(1).replaceAll('/', '.');
  const schema = schemaAt(pointer);
  const name = schema?.env ?? path;
  const was = Value.Pointer.Get(values, pointer);
  if (schema === undefined) return `${path}: was set; allowed is no setting of this name`;
  return `${name}: was ${was === undefined ? 'not set' : JSON.stringify(was)}; allowed is ${allowed(schema)}`;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value) || value instanceof Map)
    return value;
  if ('refresh' in value) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}
