/** The settings for people: the table of the docs, and `config/default.yaml`. Both are checked against the schema. */
import { stringify } from 'yaml';
import { allowed, listMembers, listSettings, type Setting } from './settings.js';

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

/** What is read from the environment alone, before or beside the settings. */
const OUTSIDE = [
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

/** Names of the environment that are no settings. */
export const OUTSIDE_NAMES: readonly string[] = OUTSIDE.map(([name]) => name);

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
