/** `dsp-gateway store`: copies of the embedded store's folder, made by the gateway where one runs. */
import { resolve } from 'node:path';
import type { AnswerOf } from '../api/operations/operation.js';
import { backUpStore } from '../api/operations/registry.js';
import { ADMIN_PLANE, type ClientOptions, openAdmin } from './client.js';
import { command, group, show } from './define.js';
import { confirm } from './read-secret.js';
import { counted } from './span.js';
import type { Terminal } from './terminal.js';

interface StoreOptions {
  readonly dataDir?: string;
}

interface BackupOptions extends StoreOptions, ClientOptions {
  readonly withoutHistory?: boolean;
}

/** A long history takes its time; fetch waits no longer for an answer. */
const BACKUP_TIMEOUT_MS = 300_000;

const DATA_DIR = ['--data-dir <folder>', "the store's folder (GATEWAY_DATA_DIR; default: ./data)"] as const;

const folderOf = ({ env }: Terminal, { dataDir }: StoreOptions) =>
  dataDir ?? (env.GATEWAY_DATA_DIR || './data');

export const addStoreCommands = group(
  'store',
  'Copy the embedded store, and put a copy back.',
  command<BackupOptions>({
    plane: ADMIN_PLANE,
    name: 'backup',
    description:
      'Copy teams, keys, tokens, audit, usage and notes as they are at one moment, and the history of reports with its pins, into a new folder. A gateway that runs on the folder, or at --url or GATEWAY_ADMIN_URL, makes the copy on its machine; --data-dir goes before GATEWAY_ADMIN_URL. The key that seals is not copied.',
    examples: ['store backup /backup/2026-11-21', 'store backup /backup/daily --without-history'],
    own: (added) =>
      added
        .argument('<folder>')
        .option(...DATA_DIR)
        .option('--without-history', 'leave out what reports said, and pins'),
    async run({ options, typed: [target = ''], terminal }) {
      const copied = await copyOf(terminal, folderOf(terminal, options), resolve(target), options);
      show(terminal, options, copied, ({ folder }) => `The store is copied to ${folder}.\n`);
    },
  }),
  command<StoreOptions>({
    name: 'restore',
    description:
      'Put a copy in the place of the store, which is kept beside it; the gateway must not run. A copy that is damaged changes nothing, one without a history leaves the history as it is.',
    examples: ['store restore /backup/2026-11-21'],
    own: (added) => added.argument('<folder>').option(...DATA_DIR),
    async run({ options, typed: [source = ''], terminal }) {
      const { print, nowMs } = terminal;
      const target = folderOf(terminal, options);
      const { restoreState } = await import('../store/embedded/backup.js');
      const { state, history } = await restoreState(target, source, nowMs());
      print(`The store of ${target} is that of ${source} now.\n`);
      const aside = [state, history].filter((one) => one !== null);
      if (aside.length > 0) print(`What was there before is in ${aside.join(' and ')}.\n`);
    },
  }),
  command<{ readonly yes?: boolean }>({
    name: 'forget-sealed',
    description:
      'Start over after the master key was lost: the platform token and every team key are forgotten, teams, usage and audit stay. Of the store that the settings name, Redis too; no gateway must run.',
    examples: ['store forget-sealed'],
    own: (added) => added.option('--yes', 'do not ask'),
    async run({ options, terminal }) {
      const { loadConfig } = await import('../config/load.js');
      const config = loadConfig(terminal.env);
      const question = 'The platform token and all team keys will be gone for good; the teams stay.';
      await confirm(terminal, question, options.yes);
      const { forgetSealed } = await import('../server/forget-sealed.js');
      const { teams, keys } = await forgetSealed(config);
      terminal.print(
        `Forgotten: the platform token and ${counted(keys, 'key')}. Kept: ${counted(teams, 'team')}.\nNow start the gateway, then: dsp-gateway token rotate, and dsp-gateway keys issue <team> for each team.\n`,
      );
    },
  }),
);

/** By the gateway, where one has the folder open: a second process that opens it would lose what is written meanwhile. */
async function copyOf(
  { env }: Terminal,
  source: string,
  folder: string,
  options: BackupOptions,
): Promise<AnswerOf<typeof backUpStore>> {
  const history = options.withoutHistory !== true;
  const byGateway = () =>
    openAdmin(options, { ...env, GATEWAY_DATA_DIR: source }).ask(backUpStore, {
      body: { folder, history },
      timeoutMs: BACKUP_TIMEOUT_MS,
    });
  if (options.url !== undefined || (env.GATEWAY_ADMIN_URL && options.dataDir === undefined))
    return byGateway();
  const { backupState } = await import('../store/embedded/backup.js');
  const { FolderInUse } = await import('../store/refused.js');
  try {
    await backupState(source, folder, history);
    return { folder, history };
  } catch (error) {
    if (!(error instanceof FolderInUse)) throw error;
    return byGateway();
  }
}
