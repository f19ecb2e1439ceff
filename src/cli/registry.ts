/** `dsp-gateway registry`: backup and restore of teams, keys (hashes) and sealed tokens. */
import { rmSync, writeFileSync } from 'node:fs';
import { exportRegistry, importRegistry } from '../api/operations/registry.js';
import { isObject } from '../lib/json.js';
import { parseJson } from '../reports/rows/json.js';
import { call, type Given, steps, type Values } from './call-command.js';
import { CommandError, EXIT } from './command-error.js';
import { group, show } from './define.js';
import { plainJson } from './plain-text.js';
import { confirm, readText } from './read-secret.js';
import { counted } from './span.js';

type Own = Readonly<{ out?: string; yes?: boolean }>;

export const addRegistryCommands = group(
  'registry',
  'Backup and restore of teams, keys (hashes) and sealed tokens.',
  steps({
    name: 'export',
    operation: exportRegistry,
    description: 'Export to a file or standard output.',
    examples: ['registry export --out backup.json', 'registry export | age -r age1… > backup.age'],
    own: (added) => added.option('--out <path>', 'a new file, readable by its owner only'),
    async run({ send, terminal, options }: Given<typeof exportRegistry, Own>) {
      const text = `${plainJson(await send({}))}\n`;
      if (options.out === undefined) return terminal.print(text);
      writeNew(options.out, text);
      show(terminal, options, { written: options.out }, ({ written }) => `written: ${written}\n`);
    },
  }),
  call({
    name: 'import',
    operation: importRegistry,
    description: 'Restore an export into a gateway with the same master key and without teams and keys.',
    examples: ['registry import backup.json', 'registry import backup.json --replace --yes'],
    flags: {
      format: null,
      schema: null,
      exportedAt: null,
      records: null,
      replace: { about: 'replace existing teams, keys and tokens' },
    },
    own: (added) =>
      added.argument('<path>', 'file; - is standard input').option('--yes', 'skip confirmation'),
    async prepare({ values, typed: [path = ''], terminal, options }: Given<typeof importRegistry, Own>) {
      const backup = parseBackup(await readText(terminal, path), path);
      if (values.replace)
        await confirm(terminal, 'All existing teams, keys and tokens will be replaced.', options.yes);
      return { ...backup, ...values };
    },
    render({ imported: { teams, keys, replaced, stillRevoked = 0 } }) {
      const place = replaced ? ', replacing all existing ones' : '';
      const revoked =
        stillRevoked === 0
          ? ''
          : `; ${stillRevoked} of them were revoked since the backup and stay revoked: issue new ones`;
      return `imported: ${counted(teams, 'team')}, ${counted(keys, 'key')}${place}${revoked}\n`;
    },
  }),
);

/** The content is validated by the gateway. */
function parseBackup(text: string, path: string): Values {
  try {
    // Refuses duplicate members.
    parseJson(text);
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below. The parser's message would quote the file.
  }
  throw new CommandError(`${path}: is not an export of a registry`, EXIT.data);
}

function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    // Removes a partial backup, but not an existing file.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') rmSync(path, { force: true });
    throw new CommandError(`${path} cannot be written (${(error as Error).message})`, EXIT.data);
  }
}
