/** `dsp-gateway audit`: who changed what. */
import { type Command, InvalidArgumentError } from 'commander';
import type { AnswerTo } from '../api/operations/table.js';
import type { AdminOptions } from './admin-client.js';
import { CommandError } from './command-error.js';
import { act, adminCommand, show } from './define.js';
import { EXIT } from './exit-codes.js';
import { readSpan } from './span.js';
import { renderTable } from './table.js';
import { readId } from './teams.js';
import type { Terminal } from './terminal.js';

interface AuditOptions extends AdminOptions {
  readonly limit: number;
  readonly before?: string;
  readonly action?: string;
  readonly team?: string;
  readonly since?: string;
}

export function addAuditCommand(program: Command, terminal: Terminal): void {
  adminCommand(program, {
    name: 'audit',
    description: 'Show who changed what, newest first; --json shows before and after, too.',
    examples: [
      'audit --limit 20',
      'audit --action token --since 7d',
      'audit --team growth --json | jq ".[].before"',
    ],
  })
    .option('--limit <number>', 'so many lines, at most 1000', readLimit, 50)
    .option('--before <id>', 'lines older than this one')
    .option('--action <action>', 'only this one, e.g. token.activate, or a kind of them, e.g. token')
    .option('--team <team>', 'only changes of this team and of its keys', readId)
    .option('--since <time>', 'not older than this: an ISO date or time, or a length such as 24h or 7d')
    .action(
      act<AuditOptions>(terminal, async (admin, options) => {
        const { limit, before, action, team } = options;
        const since = options.since === undefined ? undefined : sinceOf(options.since, terminal.nowMs());
        const query = { limit, before, action, team, since };
        const { entries } = await admin.ask('GET /admin/v1/audit', { query });
        show(terminal, options, entries, listEntries);
      }),
    );
}

/** A length counts back from now; anything else is for the gateway to read, but for what no date can be. */
function sinceOf(text: string, nowMs: number): string {
  const seconds = readSpan(text);
  if (seconds !== null) return new Date(nowMs - seconds * 1000).toISOString();
  if (/^\d{4}-/.test(text)) return text;
  throw new CommandError(
    '--since: must be an ISO date or time, e.g. 2026-11-01, or a length such as 24h or 7d',
    EXIT.data,
  );
}

function readLimit(text: string): number {
  if (!/^[1-9][0-9]{0,3}$/.test(text))
    throw new InvalidArgumentError('It must be a whole number from 1 to 1000.');
  return Number(text);
}

function listEntries(entries: AnswerTo<'GET /admin/v1/audit'>['entries']): string {
  if (entries.length === 0)
    return 'Nothing was changed yet, or nothing that fits; every change is noted here.\n';
  return renderTable(
    ['at', 'who', 'from', 'did', 'to', 'id'],
    entries.map(({ at, actor, address, action, subject, id }) => [at, actor, address, action, subject, id]),
  );
}
