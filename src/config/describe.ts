/**
 * The settings for people: the table of the docs, `config/default.yaml`, and what is in effect, with where it comes from; of
 * secrets only that they are set.
 */
import { stringify } from 'yaml';
import { loadConfig, readYaml } from './load.js';
import type { Environment } from './rules.js';
import { allowed, at, listMembers, listSettings, OUTSIDE, type Setting, type Tree } from './settings.js';

export function settingsTable(): string {
  const settings = listSettings().flatMap((setting) => [setting, ...listMembers(setting)]);
  const rows = settings.map((setting) => {
    const env =
      setting.env === undefined ? '–' : `\`${setting.env}\`${setting.secret ? ' (or `_FILE`)' : ''}`;
    return `| ${env} | \`${setting.path}\` | ${cell(shownDefault(setting))} | ${cell(setting.schema.description ?? '')} | ${cell(allowed(setting.schema))} |`;
  });
  return [
    '| Environment | In the YAML | Default | Meaning | Allowed |',
    '|---|---|---|---|---|',
    ...OUTSIDE.map(
      ([env, shown, meaning, kind]) => `| \`${env}\` | – | ${shown} | ${cell(meaning)} | ${kind} |`,
    ),
    ...rows,
    '',
  ].join('\n');
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

/** Every setting with its meaning; those without a default are there as comments. */
export function defaultYaml(): string {
  const lines = ['# Every setting of dsp-gateway with its default. The environment wins over this file.'];
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
