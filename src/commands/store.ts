/** `dsp-gateway store`: copies of the embedded store's folder, made beside a gateway that runs. */
import type { Command } from 'commander';
import { withExamples } from './define.js';
import { confirm } from './read-secret.js';
import { counted } from './span.js';
import type { Terminal } from './terminal.js';

interface StoreOptions {
  readonly dataDir?: string;
}

const DATA_DIR = ['--data-dir <folder>', "the store's folder (GATEWAY_DATA_DIR; default: ./data)"] as const;

export function addStoreCommands(program: Command, terminal: Terminal): void {
  const { env, print, nowMs } = terminal;
  const store = program.command('store').description('Copy the embedded store, and put a copy back.');
  const folderOf = ({ dataDir }: StoreOptions) => dataDir ?? (env.GATEWAY_DATA_DIR || './data');
  const backup = store
    .command('backup <folder>')
    .description(
      'Copy teams, keys, tokens, audit, usage and notes as they are at one moment, and the history of reports with its pins, into a new folder; the gateway may run. The key that seals is not copied.',
    )
    .option(...DATA_DIR)
    .option('--without-history', 'leave out what reports said, and pins')
    .action(async (target: string, options: StoreOptions & { readonly withoutHistory?: boolean }) => {
      const { backupState } = await import('../store/embedded/backup.js');
      await backupState(folderOf(options), target, options.withoutHistory !== true);
      print(`The store of ${folderOf(options)} is copied to ${target}.\n`);
    });
  withExamples(backup, ['store backup /backup/2026-11-21', 'store backup /backup/daily --without-history']);
  const restore = store
    .command('restore <folder>')
    .description(
      'Put a copy in the place of the store, which is kept beside it; the gateway must not run. A copy that is damaged changes nothing, one without a history leaves the history as it is.',
    )
    .option(...DATA_DIR)
    .action(async (source: string, options: StoreOptions) => {
      const { restoreState } = await import('../store/embedded/backup.js');
      const { state, history } = await restoreState(folderOf(options), source, nowMs());
      print(`The store of ${folderOf(options)} is that of ${source} now.\n`);
      const aside = [state, history].filter((one) => one !== null);
      if (aside.length > 0) print(`What was there before is in ${aside.join(' and ')}.\n`);
    });
  withExamples(restore, ['store restore /backup/2026-11-21']);
  addForgetSealed(store, terminal);
}

function addForgetSealed(store: Command, terminal: Terminal): void {
  const { env, print } = terminal;
  const forget = store
    .command('forget-sealed')
    .description(
      'Start over after the master key was lost: the platform token and every team key are forgotten, teams, usage and audit stay. Of the store that the settings name, Redis too; no gateway must run.',
    )
    .option('--yes', 'do not ask')
    .action(async ({ yes }: { readonly yes?: boolean }) => {
      const { loadConfig } = await import('../config/load.js');
      const config = loadConfig(env);
      await confirm(
        terminal,
        'The platform token and all team keys will be gone for good; the teams stay.',
        yes,
      );
      const { forgetSealed } = await import('../serve/forget-sealed.js');
      const { teams, keys } = await forgetSealed(config);
      print(
        `Forgotten: the platform token and ${counted(keys, 'key')}. Kept: ${counted(teams, 'team')}.\nNow start the gateway, then: dsp-gateway token rotate, and dsp-gateway keys issue <team> for each team.\n`,
      );
    });
  withExamples(forget, ['store forget-sealed']);
}
