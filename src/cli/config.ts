/** `dsp-gateway config`: the settings, checked and shown. */
import type { Command } from 'commander';
import type { EffectiveSetting } from '../config/describe.js';
import { withExamples } from './define.js';
import { plainJson, plainText } from './plain-text.js';
import { type Cell, renderTable } from './table.js';
import type { Terminal } from './terminal.js';

export function addConfigCommands(program: Command, { env, print }: Terminal): void {
  const config = program.command('config').description('Check and show the settings.');
  const check = config
    .command('check')
    .description(
      'Read the settings, and the file of teams, as serve would; exit code 78 and one line per fault when they are wrong.',
    )
    .action(async () => {
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
      print(`The settings are right (${source ?? 'no file, the environment alone'}).\n`);
    });
  withExamples(check, ['config check']);
  const shown = config
    .command('show')
    .description(
      'Show every setting as it is in effect, and where it comes from; of secrets only whether they are set.',
    )
    .option('--json', 'print JSON, for scripts')
    .action(async ({ json }: { readonly json?: boolean }) => {
      const { effectiveSettings } = await import('../config/describe.js');
      const settings = effectiveSettings(env);
      print(
        json
          ? `${plainJson(settings, 2)}\n`
          : plainText(renderTable(['setting', 'environment', 'value', 'from'], settings.map(rowOf))),
      );
    });
  withExamples(shown, ['config show', 'config show --json | jq \'.[] | select(.from != "default")\'']);
  const table = config
    .command('table')
    .description('Print every setting, as a Markdown table.')
    .action(async () => print((await import('../config/describe.js')).settingsTable()));
  withExamples(table, ['config table']);
  const defaults = config
    .command('defaults')
    .description('Print every setting with its default, as YAML with comments.')
    .action(async () => print((await import('../config/describe.js')).defaultYaml()));
  withExamples(defaults, ['config defaults > gateway.yaml']);
}

/** A long list or map belongs to `--json`. */
const MOST_SHOWN = 60;

function rowOf({ path, env, value, from }: EffectiveSetting): readonly Cell[] {
  const text = typeof value === 'object' ? JSON.stringify(value) : value === undefined ? null : String(value);
  const shown = text !== null && text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
  return [path, env, shown, value === undefined ? null : from];
}
