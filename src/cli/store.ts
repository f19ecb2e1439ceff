/** `dsp-gateway store`: backup and restore of the embedded store. */
import { resolve } from 'node:path';
import type { AnswerOf } from '../api/operations/operation.js';
import { backUpStore } from '../api/operations/registry.js';
import { ADMIN_PLANE, type ClientOptions, openAdmin } from './client.js';
import { command, group, show } from './define.js';
import { confirm } from './read-secret.js';
import { counted } from './span.js';
import type { Terminal } from './terminal.js';

type StoreOptions = { readonly dataDir?: string };
type BackupOptions = StoreOptions & ClientOptions & { readonly withoutHistory?: boolean };

/** For a large history. `fetch` waits no longer than this. */
const BACKUP_TIMEOUT_MS = 300_000;

const DATA_DIR = ['--data-dir <folder>', 'data folder (GATEWAY_DATA_DIR; default: ./data)'] as const;

const folderOf = ({ env }: Terminal, { dataDir }: StoreOptions) =>
  dataDir ?? (env.GATEWAY_DATA_DIR || './data');

export const addStoreCommands = group(
  'store',
  'Back up and restore the embedded store.',
  command<BackupOptions>({
    plane: ADMIN_PLANE,
    name: 'backup',
    description:
      'Copy a consistent snapshot of teams, keys, tokens, audit, usage, history and pins into a new folder. A running gateway makes the copy on its machine: the one at --url or GATEWAY_ADMIN_URL, or the one that uses the data folder. --data-dir takes precedence over GATEWAY_ADMIN_URL. The master key is not copied.',
    examples: ['store backup /backup/2026-11-21', 'store backup /backup/daily --without-history'],
    own: (added) =>
      added
        .argument('<folder>', 'new folder for the copy')
        .option(...DATA_DIR)
        .option('--without-history', 'omit history and pins'),
    async run({ options, typed: [target = ''], terminal }) {
      const copied = await copyOf(terminal, folderOf(terminal, options), resolve(target), options);
      show(terminal, options, copied, ({ folder }) => `The store was copied to ${folder}.\n`);
    },
  }),
  command<StoreOptions>({
    name: 'restore',
    description:
      'Replace the store with a copy; the old store is kept beside it. Stop the gateway first. A damaged copy is refused. A copy without history keeps the current history.',
    examples: ['store restore /backup/2026-11-21'],
    own: (added) => added.argument('<folder>', 'folder of the copy').option(...DATA_DIR),
    async run({ options, typed: [source = ''], terminal }) {
      const { print, nowMs } = terminal;
      const target = folderOf(terminal, options);
      const { restoreState } = await import('../store/embedded/backup.js');
      const { state, history } = await restoreState(target, source, nowMs());
      print(`The store in ${target} was restored from ${source}.\n`);
      const aside = [state, history].filter((one) => one !== null);
      if (aside.length > 0) print(`The old store is in ${aside.join(' and ')}.\n`);
    },
  }),
  command<{ readonly yes?: boolean }>({
    name: 'forget-sealed',
    description:
      'Recover from a lost master key: delete the platform token and all team keys; keep teams, usage and audit. Works with the configured store, also Redis. Stop all gateways first.',
    examples: ['store forget-sealed'],
    own: (added) => added.option('--yes', 'skip confirmation'),
    async run({ options, terminal }) {
      const { loadConfig } = await import('../config/load.js');
      const config = loadConfig(terminal.env);
      const question = 'The platform token and all team keys will be deleted permanently; teams are kept.';
      await confirm(terminal, question, options.yes);
      const { forgetSealed } = await import('../server/forget-sealed.js');
      const { teams, keys } = await forgetSealed(config);
      terminal.print(
        `Deleted: the platform token and ${counted(keys, 'key')}. Kept: ${counted(teams, 'team')}.\nStart the gateway, then: dsp-gateway token rotate, and dsp-gateway keys issue <team> for each team.\n`,
      );
    },
  }),
);

/** The running gateway makes the copy: a second process on the folder would miss concurrent writes. */
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
