/** `dsp-gateway audit`: who changed what. */
import { type Command, InvalidArgumentError } from 'commander';
import type { AdminOptions } from './admin-client.js';
import type { Answers } from './answers.js';
import { act, adminCommand, show } from './define.js';
import { renderTable } from './table.js';
import type { Terminal } from './terminal.js';

interface AuditOptions extends AdminOptions {
  readonly limit: number;
  readonly before?: string;
}

export function addAuditCommand(program: Command, terminal: Terminal): void {
  adminCommand(program, {
    name: 'audit',
    description: 'Show who changed what, newest first; --json shows before and after, too.',
    examples: ['audit --limit 20', 'audit --json | jq \'.[] | select(.action == "token.activate")\''],
  })
    .option('--limit <number>', 'so many lines, at most 1000', readLimit, 50)
    .option('--before <id>', 'lines older than this one')
    .action(
      act<AuditOptions>(terminal, async (admin, options) => {
        const { limit, before } = options;
        const search = new URLSearchParams({
          limit: String(limit),
          ...(before === undefined ? {} : { before }),
        });
        const { entries } = await admin.ask('audit', 'GET', `audit?${search}`);
        show(terminal, options, entries, listEntries);
      }),
    );
}

function readLimit(text: string): number {
  if (!/^[1-9][0-9]{0,3}$/.test(text))
    throw new InvalidArgumentError('It must be a whole number from 1 to 1000.');
  return Number(text);
}

function listEntries(entries: Answers['audit']['entries']): string {
  if (entries.length === 0)
    return 'Nothing was changed yet, or nothing that fits; every change is noted here.\n';
  return renderTable(
    ['at', 'who', 'from', 'did', 'to', 'id'],
    entries.map(({ at, actor, address, action, subject, id }) => [at, actor, address, action, subject, id]),
  );
}
