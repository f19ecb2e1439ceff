/**
 * Settings from YAML and environment to one frozen value. The environment wins.
 *
 * Nothing else in the gateway reads the environment; every fault is collected, so that one failed start tells all.
 */
import Value from 'typebox/value';
import { type NamedAdmin, takeAdminTokens } from './admin-tokens.js';
import { formerNames, kindOf, rulesBeside, schemaFaults, withoutFaults } from './faults.js';
import { readYaml } from './read-yaml.js';
import type { Environment } from './rules.js';
import { ConfigSchema, type ConfigValues } from './schema.js';
import { type FileSecret, fileSecret, fixedSecret, type Secret } from './secret.js';
import { ruleOf } from './secret-rules.js';
import { allowed, listSettings, type SchemaNode, type Setting } from './settings.js';
import { dropEmpty, put, type Tree, take } from './tree.js';
import { nearMisses } from './warnings.js';

export interface Config extends ConfigValues {
  /** Secrets by their environment name; absent when not set. The values in the groups are removed. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Those that come from files, to be re-read. */
  readonly fileSecrets: readonly FileSecret[];
  /** Named admin tokens, beside ADMIN_TOKEN. */
  readonly admins: readonly NamedAdmin[];
  /** The YAML that was read, or null for none. */
  readonly source: string | null;
  /** What is allowed and probably not meant, a line each. */
  readonly warnings: readonly string[];
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

/**
 * The outbound proxy, by the names that every tool uses; lower case wins, as with curl.
 * @throws ConfigError when one is not the address of an HTTP proxy; it may hold a password and is not shown
 */
export function proxySettings(env: Environment): ProxySettings {
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY;
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY;
  const noProxy = env.no_proxy ?? env.NO_PROXY;
  const faults = Object.entries({ HTTP_PROXY: httpProxy, HTTPS_PROXY: httpsProxy })
    .filter(([, address]) => address && !/^https?:$/.test(protocolOf(address) ?? ''))
    .map(
      ([name, address]) =>
        `${name}: was an address of ${address?.length} characters; allowed is an http:// or https:// address`,
    );
  if (faults.length > 0) throw new ConfigError(faults);
  return {
    ...(httpProxy ? { httpProxy } : {}),
    ...(httpsProxy ? { httpsProxy } : {}),
    ...(noProxy ? { noProxy } : {}),
  };
}

function protocolOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).protocol : null;
}

/**
 * @param env the environment, usually `process.env`
 * @throws ConfigError
 */
export function loadConfig(env: Environment): Config {
  const faults = formerNames(env);
  const { tree, source } = readYaml(env, faults);
  dropEmpty(tree, ConfigSchema as SchemaNode);
  const secrets = new Map<string, Secret>();
  const fileSecrets: FileSecret[] = [];

  for (const setting of listSettings()) {
    if (setting.secret) takeSecret(setting, env, tree, secrets, fileSecrets, faults);
    else takeValue(setting, env, tree, faults);
  }
  // Twice: defaults inside of defaulted records are only reached the second time.
  const values = Value.Default(ConfigSchema, Value.Default(ConfigSchema, tree)) as ConfigValues;
  const wrong = schemaFaults(values);
  faults.push(...wrong.values());
  const usable = wrong.size === 0 ? values : withoutFaults(tree, [...wrong.keys()]);
  if (usable !== null) faults.push(...rulesBeside(faults, usable, secrets, env));
  const owner = secrets.get('ADMIN_TOKEN');
  const admins = takeAdminTokens(usable?.auth.adminTokens ?? [], { env, owner, fileSecrets, faults });
  if (faults.length > 0) throw new ConfigError(faults);
  return deepFreeze({
    ...values,
    secrets,
    fileSecrets,
    admins,
    source,
    warnings: nearMisses(env),
  });
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
