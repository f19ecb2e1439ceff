import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { defaultYaml, settingsTable } from '../../src/config/describe.js';
import { listMembers, listSettings } from '../../src/config/settings.js';
import { BASE, load } from './settings-in.js';

const HEADING = '# Settings\n\n';

describe('config/default.yaml', () => {
  const text = readFileSync('config/default.yaml', 'utf8');

  it('is what `dsp-gateway config defaults` prints', async () => {
    await expect(defaultYaml()).toMatchFileSnapshot('../../config/default.yaml');
  });

  it('changes nothing', () => {
    const { source: _, ...values } = load(BASE, text);
    const { source: __, ...defaults } = load(BASE, '');
    expect(values).toEqual(defaults);
  });

  it('has every setting with its default, and those without one as a comment', () => {
    const tree = parse(text) as Record<string, unknown>;
    for (const { path, schema, env } of listSettings()) {
      const names = path.split('.');
      const value = names.reduce<unknown>((node, name) => (node as Record<string, unknown>)?.[name], tree);
      expect(value, path).toEqual(schema.default);
      if (schema.default === undefined) expect(text, path).toMatch(new RegExp(`^ *# ${names.at(-1)}:$`, 'm'));
      if (env !== undefined) expect(text).toContain(`[${env}]`);
    }
  });
});

describe('docs/settings.md', () => {
  it('is the table that `dsp-gateway config table` prints', async () => {
    await expect(HEADING + settingsTable()).toMatchFileSnapshot('../../docs/settings.md');
  });

  it('has a row of five cells for each setting', () => {
    const [head, rule, ...rows] = settingsTable().trimEnd().split('\n');
    expect(head).toBe('| Environment | In the YAML | Default | Meaning | Allowed |');
    expect(rule).toBe('|---|---|---|---|---|');
    const fromEnvironment = rows.filter((row) => row.split('|')[2]?.trim() === '–' && !row.startsWith('| –'));
    expect(fromEnvironment.length).toBeGreaterThan(3);
    const settings = listSettings().flatMap((setting) => [setting, ...listMembers(setting)]);
    expect(settings.map(({ path }) => path)).toContain('report.endpoints.*.knownParameters');
    expect(rows).toHaveLength(settings.length + fromEnvironment.length);
    for (const row of rows) expect(row.replaceAll('\\|', '').split('|'), row).toHaveLength(7);
  });

  it('says what is not in the schema as such', () => {
    const rowOf = (env: string) =>
      settingsTable()
        .split('\n')
        .find((row) => row.includes(`\`${env}\``));
    expect(rowOf('PLATFORM_BASE_URL')).toContain('| required |');
    expect(rowOf('PLATFORM_TOKEN_EXPIRES_AT')).toContain('| one year after first seen |');
    expect(rowOf('PLATFORM_TOKEN')).toContain('(or `_FILE`)');
    expect(rowOf('PORT')).toContain('| `8080` |');
    expect(rowOf('PORT')).not.toContain('_FILE');
  });
});
