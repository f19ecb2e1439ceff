/** `dsp-gateway config`: check and show the settings. */
import type { EffectiveSetting } from '../config/describe.js';
import { command, group, show } from './define.js';
import { type Cell, renderTable } from './table.js';

export const addConfigCommands = group(
  'config',
  'Check and show the settings.',
  command({
    name: 'check',
    description:
      'Check the settings and the teams file as serve does; exit code 78 and one line per fault if invalid.',
    examples: ['config check'],
    async run({ terminal: { env, print } }) {
      const [{ loadConfig }, { readTeamsFile }, { missingCredential }] = await Promise.all([
        import('../config/load.js'),
        import('../server/run.js'),
        import('../config/warnings.js'),
      ]);
      const { source, teamsFile, secrets, warnings } = loadConfig(env);
      if (teamsFile !== undefined) readTeamsFile(teamsFile);
      const missing = missingCredential(secrets);
      for (const warning of missing === null ? warnings : [missing, ...warnings])
        print(`WARNING: ${warning}\n`);
      print(`The settings are valid (${source ?? 'no file, environment only'}).\n`);
    },
  }),
  command<{ readonly json?: boolean }>({
    name: 'show',
    description: 'Show effective settings with their source; for secrets only whether they are set.',
    examples: ['config show', 'config show --json | jq \'.[] | select(.from != "default")\''],
    own: (added) => added.option('--json', 'print JSON'),
    async run({ options, terminal }) {
      const { effectiveSettings } = await import('../config/describe.js');
      show(terminal, options, effectiveSettings(terminal.env), (settings) =>
        renderTable(['setting', 'environment', 'value', 'from'], settings.map(rowOf)),
      );
    },
  }),
  command({
    name: 'table',
    description: 'Print all settings as a Markdown table.',
    examples: ['config table'],
    run: async ({ terminal }) => terminal.print((await import('../config/describe.js')).settingsTable()),
  }),
  command({
    name: 'defaults',
    description: 'Print all settings with defaults as commented YAML.',
    examples: ['config defaults > gateway.yaml'],
    run: async ({ terminal }) => terminal.print((await import('../config/describe.js')).defaultYaml()),
  }),
);

/** Longer values are only complete in `--json`. */
const MOST_SHOWN = 60;

function rowOf({ path, env, value, from }: EffectiveSetting): readonly Cell[] {
  const text = typeof value === 'object' ? JSON.stringify(value) : value === undefined ? null : String(value);
  const shown = text !== null && text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
  return [path, env, shown, value === undefined ? null : from];
}
