/** `dsp-gateway registry`: backup and restore of teams, keys (hashes) and sealed tokens. */
import { rmSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { AnswerTo } from '../api/operations/table.js';
import { parseJson } from '../reports/rows/json.js';
import type { Admin, AdminOptions } from './admin-client.js';
import { CommandError } from './command-error.js';
import { act, adminCommand, show } from './define.js';
import { EXIT } from './exit-codes.js';
import { plainJson } from './plain-text.js';
import { confirm, readText } from './read-secret.js';
import { counted } from './span.js';
import type { Terminal } from './terminal.js';

interface ImportOptions extends AdminOptions {
  readonly replace?: boolean;
  readonly yes?: boolean;
}

type Restored = AnswerTo<'POST /admin/v1/registry/import'>;

export function addRegistryCommands(program: Command, terminal: Terminal): void {
  const registry = program
    .command('registry')
    .description('Backup and restore of teams, keys (hashes) and sealed tokens.');
  adminCommand(registry, {
    name: 'export',
    description: 'Write everything to a file, or to standard output.',
    examples: ['registry export --out backup.json', 'registry export | age -r age1… > backup.age'],
  })
    .option('--out <path>', 'a file that is not there yet; only its owner may read it')
    .action(
      act<AdminOptions & { out?: string }>(terminal, async (admin, options) => {
        const text = `${plainJson(await admin.ask('GET /admin/v1/registry/export'))}\n`;
        if (options.out === undefined) return terminal.print(text);
        writeNew(options.out, text);
        show(terminal, options, { written: options.out }, ({ written }) => `written: ${written}\n`);
      }),
    );
  adminCommand(registry, {
    name: 'import',
    description:
      'Restore what was exported, where there are no teams or keys yet; the gateway must hold the same master key.',
    examples: ['registry import backup.json', 'registry import backup.json --replace --yes'],
  })
    .argument('<path>', 'the file; - is standard input')
    .option('--replace', 'in place of what is there')
    .option('--yes', 'do not ask')
    .action(
      act<ImportOptions>(terminal, async (admin, options, path = '') =>
        show(terminal, options, await restore(terminal, admin, options, path), describeImport),
      ),
    );
}

async function restore(
  terminal: Terminal,
  admin: Admin,
  { replace, yes }: ImportOptions,
  path: string,
): Promise<Restored> {
  const backup = parseBackup(await readText(terminal, path), path);
  if (replace)
    await confirm(terminal, 'All teams, keys and tokens that are there now will be replaced.', yes);
  const body = { ...backup, ...(replace ? { replace } : {}) };
  return admin.ask('POST /admin/v1/registry/import', { body });
}

function describeImport({ imported }: Restored): string {
  const { teams, keys, replaced, stillRevoked = 0 } = imported;
  const revoked =
    stillRevoked === 0
      ? ''
      : `; ${stillRevoked} of them were revoked since the backup, and stay so: issue new ones`;
  return `imported: ${counted(teams, 'team')}, ${counted(keys, 'key')}${replaced ? ', in place of what was there' : ''}${revoked}\n`;
}

/** What is in it the gateway judges. */
function parseBackup(text: string, path: string): AnswerTo<'GET /admin/v1/registry/export'> {
  try {
    // Of a member that is there twice, nobody knows which one was meant.
    parseJson(text);
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as AnswerTo<'GET /admin/v1/registry/export'>;
  } catch {
    // Told below, without the parser's words: they quote the file.
  }
  throw new CommandError(`${path}: is no export of a registry`, EXIT.data);
}

function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    // Half a backup is none; what was there before is left alone.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') rmSync(path, { force: true });
    throw new CommandError(`${path} cannot be written (${(error as Error).message})`, EXIT.data);
  }
}
