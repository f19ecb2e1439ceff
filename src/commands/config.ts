import type { Command } from 'commander';
import { defaultYaml, settingsTable } from '../config/describe.js';
import { loadConfig } from '../config/load.js';

export function addConfigCommands(program: Command): void {
  const config = program.command('config').description('Check and show the settings.');
  config
    .command('check')
    .description('Read the settings as serve would; exit code 78 and one line per fault when they are wrong.')
    .action(() => {
      const { source } = loadConfig(process.env);
      process.stdout.write(`The settings are right (${source ?? 'no file, the environment alone'}).\n`);
    });
  config
    .command('table')
    .description('Print every setting, as a Markdown table.')
    .action(() => void process.stdout.write(settingsTable()));
  config
    .command('defaults')
    .description('Print every setting with its default, as YAML with comments.')
    .action(() => void process.stdout.write(defaultYaml()));
}
