/** What is wrong with settings, a line each: the setting, what it was, what is allowed. */
import { Settings } from 'typebox/system';
import Value from 'typebox/value';
import { nearName } from '../lib/near-name.js';
import { checkRules, type Environment } from './rules.js';
import { ConfigSchema, type ConfigValues } from './schema.js';
import { fixedSecret, type Secret } from './secret.js';
import { allowed, listSettings, type SchemaNode, schemaAt } from './settings.js';
import { put, type Tree, take } from './tree.js';

/** Faults of meaning beside those that are known: what is faulty already is taken to be set, and not told of twice. */
export function rulesBeside(
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
  return checkRules(values, assumed, env).filter((fault) => !named.has(nameIn(fault)));
}

/** Good enough for an address, so that nothing follows from its absence. */
const ASSUMED = 'redis://faulty.invalid';

/** The setting that a fault is about. */
function nameIn(fault: string): string {
  return (fault.split(':', 1)[0] as string).replace(/_FILE$/, '');
}

/**
 * The settings with faulty ones at their defaults, so that rules about the others are checked in the same start.
 * @returns null when that is no whole set of settings
 */
export function withoutFaults(tree: Tree, pointers: readonly string[]): ConfigValues | null {
  for (const { path } of listSettings()) {
    const place = `/${path.replaceAll('.', '/')}`;
    if (pointers.some((pointer) => pointer === place || pointer.startsWith(`${place}/`))) take(tree, path);
  }
  if (Value.Pointer.Get(tree, '/platform/baseUrl') === undefined) {
    put(tree, 'platform.baseUrl', 'http://platform.invalid');
  }
  const values = Value.Default(ConfigSchema, Value.Default(ConfigSchema, tree)) as ConfigValues;
  return Value.Check(ConfigSchema, values) ? values : null;
}

/** @returns one line per faulty place, by its JSON pointer */
export function schemaFaults(values: ConfigValues): Map<string, string> {
  // All of them: typebox stops after 8 by itself.
  Settings.Set({ maxErrors: MAX_FAULTS });
  const byPlace = new Map<string, string>();
  for (const error of Value.Errors(ConfigSchema, values)) {
    if (error.keyword === 'additionalProperties') continue; // each one is also reported at its own place
    const missing = error.keyword === 'required' ? requiredNames(error.params) : [''];
    for (const name of missing) {
      const pointer = name === '' ? error.instancePath : `${error.instancePath}/${name}`;
      if (!byPlace.has(pointer)) byPlace.set(pointer, describeFault(pointer, values));
    }
  }
  return byPlace;
}

const MAX_FAULTS = 1000;

/** Settings of earlier releases, with what is allowed in their place. */
const FORMER: readonly (readonly [RegExp, string])[] = [
  [/^report\.endpoints\..+\.rows$/, 'the same under its new name rowsAt'],
  [/^server\.hitsOnSocket$/, 'no such setting any more: hits are read by Node’s HTTP alone; remove it'],
  [/^platform\.answerBufferBytes$/, 'no such setting any more: it is always 64 MiB; remove it'],
  [/^platform\.weights$/, 'no such setting any more: all teams get the same share of calls; remove it'],
];

/** Variables of earlier releases, with the setting that each was for. */
const FORMER_NAMES = { HITS_ON_SOCKET: 'server.hitsOnSocket' };

/** @returns a line for each that is set */
export function formerNames(env: Environment): string[] {
  return Object.entries(FORMER_NAMES).flatMap(([name, path]) =>
    env[name] ? [`${name}: was set; allowed is ${formerly(path)}`] : [],
  );
}

const formerly = (path: string) => FORMER.find(([old]) => old.test(path))?.[1];

function requiredNames(params: unknown): string[] {
  return (params as { requiredProperties?: string[] }).requiredProperties ?? [''];
}

function describeFault(pointer: string, values: ConfigValues): string {
  const path = pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  const schema = schemaAt(pointer);
  const name = schema?.env ?? path;
  const was = Value.Pointer.Get(values, pointer);
  const former = formerly(path);
  if (schema === undefined && former !== undefined) return `${path}: was set; allowed is ${former}`;
  if (schema === undefined) {
    const near = nearName(path, namesInYaml());
    return `${path}: was set; allowed is no setting of this name${near === undefined ? '' : `; did you mean ${near}?`}`;
  }
  return `${name}: was ${shown(was, schema)}; allowed is ${allowed(schema)}`;
}

/** Of all settings and of the groups they are in. */
function namesInYaml(): Set<string> {
  const parts = listSettings().map(({ path }) => path.split('.'));
  return new Set(parts.flatMap((names) => names.map((_, at) => names.slice(0, at + 1).join('.'))));
}

/** Only a plain value in the place of a plain value is shown: what was put in a wrong place may hold a secret. */
function shown(was: unknown, schema: SchemaNode): string {
  if (was === undefined) return 'not set';
  const plain = typeof was !== 'object' && schema.type !== 'object' && schema.type !== 'array';
  return plain ? JSON.stringify(was) : kindOf(was);
}

export function kindOf(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a mapping';
  return value === '' ? 'empty text' : typeof value === 'string' ? 'text' : `a ${typeof value}`;
}
