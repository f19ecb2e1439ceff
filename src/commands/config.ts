/** `dsp-gateway config`: the settings, checked and shown. */
import type { Command } from 'commander';
import { withExamples } from './define.js';
import type { Terminal } from './terminal.js';

export function addConfigCommands(program: Command, { env, print }: Terminal): void {
  const config = program.command('config').description('Check and show the settings.');
  const check = config
    .command('check')
    .description(
      'Read the settings, and the file of teams, as serve would; exit code 78 and one line per fault when they are wrong.',
    )
    .action(async () => {
      const [{ loadConfig }, { readTeamsFile }] = await Promise.all([
        import('../config/load.js'),
        import('../serve/teams-file.js'),
      ]);
      const { source, teamsFile } = loadConfig(env);
      if (teamsFile !== undefined) readTeamsFile(teamsFile);
      print(`The settings are right (${source ?? 'no file, the environment alone'}).\n`);
    });
  withExamples(check, ['config check']);
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
