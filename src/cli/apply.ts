/** `dsp-gateway apply`: teams as a file declares them. */
import type { Command } from 'commander';
import type { AnswerTo } from '../api/operations/table.js';
import { countChanges, describeChanges } from '../teams/declared/describe-changes.js';
import type { Removed } from '../teams/declared/plan-teams.js';
import type { AdminOptions } from './admin-client.js';
import { CommandError } from './command-error.js';
import { act, adminCommand, show } from './define.js';
import { EXIT } from './exit-codes.js';
import { readText } from './read-secret.js';
import type { Terminal } from './terminal.js';

interface ApplyOptions extends AdminOptions {
  readonly file: string;
  readonly dryRun?: boolean;
  readonly prune?: boolean;
  readonly release?: boolean;
}

export function addApplyCommand(program: Command, terminal: Terminal): void {
  adminCommand(program, {
    name: 'apply',
    description:
      'Make the teams what a file declares. Teams made by hand are left alone; a team that left the file is kept, unless --prune or --release says otherwise.',
    examples: ['apply -f teams.yaml --dry-run', 'apply -f teams.yaml', 'apply -f teams.yaml --prune'],
  })
    .requiredOption('-f, --file <path>', 'YAML file of teams; - is standard input')
    .option('--dry-run', 'only show what would change')
    .option('--prune', 'delete teams that left the file, and revoke their keys for good')
    .option('--release', 'hand teams that left the file over to management by hand')
    .action(
      act<ApplyOptions>(terminal, async (admin, options) => {
        const { file, dryRun = false } = options;
        const removed = removedRule(options);
        const { parseTeams } = await import('../teams/declared/parse-teams.js');
        const { teams, faults } = parseTeams(await readText(terminal, file), file === '-' ? 'stdin' : file);
        if (faults.length > 0) throw new CommandError(faults.join('\n'), EXIT.data);
        const applied = await admin.ask('POST /admin/v1/teams/apply', { body: { teams, removed, dryRun } });
        show(terminal, options, applied, describe);
      }),
    );
}

function removedRule({ prune, release }: ApplyOptions): Removed {
  if (prune && release) throw new CommandError('--prune and --release exclude each other', EXIT.usage);
  return prune ? 'delete' : release ? 'release' : 'keep';
}

function describe({ dryRun, changes }: AnswerTo<'POST /admin/v1/teams/apply'>): string {
  const lines = [...describeChanges(changes), `${dryRun ? 'would be: ' : ''}${countChanges(changes)}`];
  return `${lines.join('\n')}\n`;
}
