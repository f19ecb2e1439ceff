import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { defaultYaml, settingsTable } from '../../src/config/describe.js';
import { BASE, load } from './settings-in.js';

const HEADING =
  '# Settings\n\n**In short:** every setting with its default. It comes from the environment, then from the YAML file that `GATEWAY_CONFIG` names; an invalid or unknown one ends the start with exit code 78.\n\n';

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
});

describe('docs/settings.md', () => {
  it('is the table that `dsp-gateway config table` prints', async () => {
    await expect(HEADING + settingsTable()).toMatchFileSnapshot('../../docs/settings.md');
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
