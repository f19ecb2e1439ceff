/** `dsp-gateway apply`: teams as a file declares them. */
import { applyTeams } from '../api/operations/teams.js';
import { countChanges, describeChanges } from '../teams/declared/describe-changes.js';
import { call, type Given } from './call-command.js';
import { CommandError, EXIT } from './command-error.js';
import { readText } from './read-secret.js';

interface Own {
  readonly file: string;
  readonly prune?: boolean;
  readonly release?: boolean;
}

export const addApplyCommand = call({
  name: 'apply',
  operation: applyTeams,
  description:
    'Make the teams what a file declares. Teams made by hand are left alone; a team that left the file is kept, unless --prune or --release says otherwise.',
  examples: ['apply -f teams.yaml --dry-run', 'apply -f teams.yaml', 'apply -f teams.yaml --prune'],
  flags: { teams: null, removed: null, dryRun: { about: 'only show what would change' } },
  own: (command) =>
    command
      .requiredOption('-f, --file <path>', 'YAML file of teams; - is standard input')
      .option('--prune', 'delete teams that left the file, and revoke their keys for good')
      .option('--release', 'hand teams that left the file over to management by hand'),
  async prepare({ values, terminal, options }: Given<typeof applyTeams, Own>) {
    const { file, prune, release } = options;
    if (prune && release) throw new CommandError('--prune and --release exclude each other', EXIT.usage);
    const { parseTeams } = await import('../teams/declared/parse-teams.js');
    const { teams, faults } = parseTeams(await readText(terminal, file), file === '-' ? 'stdin' : file);
    if (faults.length > 0) throw new CommandError(faults.join('\n'), EXIT.data);
    return { ...values, teams, removed: prune ? 'delete' : release ? 'release' : 'keep' };
  },
  render: ({ dryRun, changes }) =>
    [...describeChanges(changes), `${dryRun ? 'would be: ' : ''}${countChanges(changes)}`, ''].join('\n'),
});
