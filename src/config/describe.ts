/**
 * Settings for people: the docs table, `config/default.yaml`, and effective settings with their source. Of secrets
 * only whether they are set.
 */
import { stringify } from 'yaml';
import { loadConfig, readYaml } from './load.js';
import type { Environment } from './rules.js';
import { allowed, at, listMembers, listSettings, OUTSIDE, type Setting } from './settings.js';

export function settingsTable(): string {
  const settings = listSettings().flatMap((setting) => [setting, ...listMembers(setting)]);
  const rows = settings.map((setting) => {
    const { path, env, secret, schema } = setting;
    const name = env === undefined ? '' : `, \`${env}\`${secret ? ' (or `_FILE`)' : ''}`;
    return `| \`${path}\`${name} | ${cell(shownDefault(setting))} | ${cell(schema.description ?? '')} | ${cell(briefly(schema))} |`;
  });
  return [
    '| Setting | Default | Meaning | Allowed |',
    '|---|---|---|---|',
    ...OUTSIDE.map(([env, shown, meaning, kind]) => `| \`${env}\` | ${shown} | ${cell(meaning)} | ${kind} |`),
    ...rows,
    '',
  ].join('\n');
}

/** The allowed values in the short form of a table cell, e.g. `0 to 65535`. */
function briefly(schema: Setting['schema']): string {
  if (schema.type === 'boolean') return 'boolean';
  return allowed(schema).replace(/^a (?:whole )?number from /, '');
}

function shownDefault(setting: Setting): string {
  if (setting.shownDefault !== undefined) return setting.shownDefault;
  const value = setting.schema.default;
  if (value === undefined) return setting.path === 'platform.baseUrl' ? 'required' : '–';
  if (value === '' || (Array.isArray(value) && value.length === 0)) return 'none';
  return typeof value === 'object' ? 'see config/default.yaml' : `\`${String(value)}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

/** Every setting with its description; those without a default as comments. */
export function defaultYaml(): string {
  const lines = [
    '# All settings of dsp-gateway with their defaults. Environment variables take precedence over this file.',
  ];
  let open: string[] = [];
  for (const setting of listSettings()) {
    const path = setting.path.split('.');
    const groups = path.slice(0, -1);
    const shared = groups.findIndex((name, index) => open[index] !== name);
    if (shared < 0 && groups.length < open.length) lines.push('');
    for (let depth = shared < 0 ? groups.length : shared; depth < groups.length; depth++) {
      lines.push('', `${'  '.repeat(depth)}${groups[depth]}:`);
    }
    open = groups;
    lines.push(...settingLines(setting, path.at(-1) as string, '  '.repeat(groups.length)));
  }
  return `${lines.join('\n')}\n`;
}

function settingLines(setting: Setting, name: string, indent: string): string[] {
  const env = setting.env === undefined ? '' : ` [${setting.env}]`;
  const comment = `${indent}# ${setting.schema.description ?? ''}${env}`;
  const value = setting.schema.default;
  if (value === undefined) return [comment, `${indent}# ${name}:`];
  const text = stringify({ [name]: value }).trimEnd();
  return [comment, ...text.split('\n').map((line) => indent + line)];
}

export interface EffectiveSetting {
  /** Path in the YAML. */
  readonly path: string;
  /** Environment variable, if any. */
  readonly env: string | null;
  /** For a secret: whether it is set. */
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
    const from = sourceOf(setting, env, at(tree, path) === undefined ? null : source);
    if (secret) return { path, env: name, value: set ? 'set, not shown' : undefined, from };
    const value = at(config, path);
    // An address may hold a user and a password.
    const shown = typeof value === 'string' ? value.replace(/\/\/[^/?#]*@/, '//…@') : value;
    return { path, env: name, value: shown, from };
  });
}

function sourceOf({ env: name, secret }: Setting, env: Environment, yaml: string | null): string {
  if (name !== undefined && env[name]) return 'environment';
  const file = secret && name !== undefined ? env[`${name}_FILE`] : undefined;
  return file || yaml || 'default';
}
