/**
 * Loads settings from YAML and environment into one frozen value. The environment takes precedence.
 *
 * Nothing else in the gateway reads the environment. All faults are collected before startup fails.
 */
import { existsSync, readFileSync } from 'node:fs';
import Value from 'typebox/value';
import { parseDocument } from 'yaml';
import { faultsOf, formAt, valueAt } from '../lib/faults.js';
import { nearName } from '../lib/near-name.js';
import { type NamedAdmin, takeAdminTokens } from './admin-tokens.js';
import { checkRules, type Environment } from './rules.js';
import { ConfigSchema, type ConfigValues } from './schema.js';
import { type FileSecret, fileSecret, fixedSecret, ruleOf, type Secret } from './secret.js';
import {
  allowed,
  at,
  dropEmpty,
  listSettings,
  put,
  type SchemaNode,
  type Setting,
  type Tree,
  take,
} from './settings.js';
import { decodeUtf8 } from './utf8.js';
import { hiddenAddress, isWebAddress } from './values.js';
import { nearMisses } from './warnings.js';

/** Used if `GATEWAY_CONFIG` is not set. */
const DEFAULT_CONFIG_PATH = 'config/default.yaml';

/**
 * @param faults receives a line if the file cannot be read; the tree is empty then
 * @returns `source` null if there is no file
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

/** Reports the parser's error code and position only: its messages quote the file, which may hold secrets. */
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
    throw new Error('undefined alias (*); quote text that starts with *');
  }
}

/** Faults of rules, without settings that have a fault already. Those count as set. */
function furtherFaults(
  faults: readonly string[],
  values: ConfigValues,
  secrets: ReadonlyMap<string, Secret>,
  env: Environment,
): string[] {
  const named = new Set(faults.map(nameIn));
  const assumed = new Map(secrets);
  for (const { env: name, secret } of listSettings()) {
    if (secret && name !== undefined && named.has(name)) assumed.set(name, fixedSecret(name, ASSUMED));
  }
  const isNamed = (name: string) => [...named].some((one) => one === name || one.startsWith(`${name}.`));
  return checkRules(values, assumed, env).filter((fault) => !isNamed(nameIn(fault)));
}

/** Stands for a faulty secret, so that no fault follows from its absence. */
const ASSUMED = 'redis://faulty.invalid';

/** The setting that a fault is about. */
function nameIn(fault: string): string {
  return (fault.split(':', 1)[0] as string).replace(/_FILE$/, '');
}

/**
 * The settings with faulty ones at their defaults, so that rules about the others are still checked.
 * @returns null if the result is still invalid
 */
function withoutFaults(tree: Tree, faulty: readonly string[]): ConfigValues | null {
  for (const { path } of listSettings()) {
    if (faulty.some((place) => place === path || place.startsWith(`${path}.`))) take(tree, path);
  }
  if (at(tree, 'platform.baseUrl') === undefined) put(tree, 'platform.baseUrl', 'http://platform.invalid');
  const values = withDefaults(tree);
  return Value.Check(ConfigSchema, values) ? values : null;
}

/** Applied twice: defaults inside of defaulted records are only reached the second time. */
function withDefaults(tree: Tree): ConfigValues {
  return Value.Default(ConfigSchema, Value.Default(ConfigSchema, tree)) as ConfigValues;
}

/** Settings of earlier releases, with their replacement. */
const FORMER: readonly (readonly [RegExp, string])[] = [
  [/^report\.endpoints\..+\.rows$/, 'the new name rowsAt'],
  [/^server\.hitsOnSocket$/, 'no value: the setting was removed; delete it'],
  [/^platform\.answerBufferBytes$/, 'no value: the setting was removed and is always 64 MiB; delete it'],
  [/^platform\.weights$/, 'no value: the setting was removed and all teams share calls equally; delete it'],
];

const formerly = (path: string) => FORMER.find(([old]) => old.test(path))?.[1];

function describeFault(names: readonly string[], values: ConfigValues): string {
  const path = names.join('.');
  const schema: SchemaNode | undefined = formAt(ConfigSchema, names);
  const name = schema?.env ?? path;
  const was = valueAt(values, names);
  const former = formerly(path);
  if (schema === undefined && former !== undefined) return `${path}: was set; allowed is ${former}`;
  if (schema === undefined) {
    const near = nearName(path, namesInYaml());
    return `${path}: was set; allowed is no setting of this name${near === undefined ? '' : `; did you mean ${near}?`}`;
  }
  return `${name}: was ${shown(was, schema)}; allowed is ${allowed(schema)}`;
}

/** Paths of all settings and groups. */
function namesInYaml(): Set<string> {
  const parts = listSettings().map(({ path }) => path.split('.'));
  return new Set(parts.flatMap((names) => names.map((_, at) => names.slice(0, at + 1).join('.'))));
}

/** Shows a scalar where a scalar is allowed. Anything else may contain a secret and is described only. */
function shown(was: unknown, schema: SchemaNode): string {
  if (was === undefined) return 'not set';
  const plain = typeof was !== 'object' && schema.type !== 'object' && schema.type !== 'array';
  return plain ? onOneLine(was) : kindOf(was);
}

/** JSON leaves two line ends of Unicode as they are. */
function onOneLine(value: unknown): string {
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`);
}

function kindOf(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a mapping';
  return value === '' ? 'empty text' : typeof value === 'string' ? 'text' : `a ${typeof value}`;
}

export interface Config extends ConfigValues {
  /** Secrets that are set, by environment variable; removed from the groups. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Secrets from files, to be re-read. */
  readonly fileSecrets: readonly FileSecret[];
  /** Named admin tokens, beside ADMIN_TOKEN. */
  readonly admins: readonly NamedAdmin[];
  /** The YAML file that was read, or null. */
  readonly source: string | null;
  /** One line each. */
  readonly warnings: readonly string[];
}

/** Thrown with one line per fault: `NAME: was …; allowed is …`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly faults: readonly string[]) {
    super(faults.join('\n'));
  }
}

export interface ProxySettings {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy?: string;
}

/**
 * The outbound proxy, from the usual variables; lower case takes precedence, as with curl.
 * @throws ConfigError for an invalid address, which is not shown: it may hold a password
 */
export function proxySettings(env: Environment): ProxySettings {
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY;
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY;
  const noProxy = env.no_proxy ?? env.NO_PROXY;
  const faults = Object.entries({ HTTP_PROXY: httpProxy, HTTPS_PROXY: httpsProxy })
    .filter(([, address]) => address && !isWebAddress(address))
    .map(
      ([name, address = '']) =>
        `${name}: was ${hiddenAddress(address)}; allowed is an http:// or https:// address`,
    );
  if (faults.length > 0) throw new ConfigError(faults);
  return {
    ...(httpProxy ? { httpProxy } : {}),
    ...(httpsProxy ? { httpsProxy } : {}),
    ...(noProxy ? { noProxy } : {}),
  };
}

/** @throws ConfigError */
export function loadConfig(env: Environment): Config {
  const faults: string[] = [];
  if (env.HITS_ON_SOCKET)
    faults.push(`HITS_ON_SOCKET: was set; allowed is ${formerly('server.hitsOnSocket')}`);
  const { tree, source } = readYaml(env, faults);
  dropEmpty(tree, ConfigSchema as SchemaNode);
  const secrets = new Map<string, Secret>();
  const fileSecrets: FileSecret[] = [];

  for (const setting of listSettings()) {
    if (setting.secret) takeSecret(setting, env, tree, secrets, fileSecrets, faults);
    else takeValue(setting, env, tree, faults);
  }
  const values = withDefaults(tree);
  const wrong = new Map(
    faultsOf(ConfigSchema, values).map(({ path }) => [path.join('.'), describeFault(path, values)]),
  );
  faults.push(...wrong.values());
  const usable = wrong.size === 0 ? values : withoutFaults(tree, [...wrong.keys()]);
  if (usable !== null) faults.push(...furtherFaults(faults, usable, secrets, env));
  const owner = secrets.get('ADMIN_TOKEN');
  const admins = takeAdminTokens(usable?.auth.adminTokens ?? [], { env, owner, fileSecrets, faults });
  if (faults.length > 0) throw new ConfigError(faults);
  return deepFreeze({ ...values, secrets, fileSecrets, admins, source, warnings: nearMisses(env) });
}

function takeValue(setting: Setting, env: Environment, tree: Tree, faults: string[]): void {
  const raw = setting.env === undefined ? undefined : env[setting.env];
  if (raw === undefined || raw === '') return;
  const value = coerce(raw, setting.schema);
  if (value === undefined) {
    faults.push(`${setting.env}: was ${onOneLine(raw)}; allowed is ${allowed(setting.schema)}`);
  } else {
    put(tree, setting.path, value);
  }
}

/** @returns undefined if the text does not have the setting's type */
function coerce(raw: string, schema: SchemaNode): unknown {
  if (schema.type === 'integer') return /^[0-9]{1,15}$/.test(raw) ? Number(raw) : undefined;
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
      const secret = fileSecret(name, file, ruleOf(name));
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
  else if (inYaml !== undefined) {
    faults.push(`${name}: was ${kindOf(inYaml)} in the file; allowed is non-empty text`);
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value) || value instanceof Map)
    return value;
  if ('refresh' in value) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}
