/** `dsp-gateway audit`: who changed what. */
import { listAudit } from '../api/operations/overview.js';
import { call } from './call-command.js';
import { CommandError, EXIT } from './command-error.js';
import { readId } from './flags.js';
import { readSpan } from './span.js';
import { renderRows } from './table.js';

export const addAuditCommand = call({
  name: 'audit',
  operation: listAudit,
  description: 'Show who changed what, newest first; --json shows before and after, too.',
  examples: [
    'audit --limit 20',
    'audit --action token --since 7d',
    'audit --team growth --json | jq ".[].before"',
  ],
  flags: {
    limit: { about: 'so many lines, at most 1000', usual: 50 },
    before: { flag: '--before <id>', about: 'lines older than this one' },
    action: {
      flag: '--action <action>',
      about: 'only this one, e.g. token.activate, or a kind of them, e.g. token',
    },
    actor: { flag: '--actor <name>', about: 'only changes by this admin token' },
    team: { flag: '--team <team>', about: 'only changes of this team and of its keys', read: readId },
    since: {
      flag: '--since <time>',
      about: 'not older than this: an ISO date or time, or a length such as 24h or 7d',
    },
  },
  prepare: ({ values, terminal }) =>
    values.since === undefined
      ? values
      : { ...values, since: sinceOf(String(values.since), terminal.nowMs()) },
  json: ({ entries }) => entries,
  render: ({ entries }) =>
    entries.length === 0
      ? 'Nothing was changed yet, or nothing that fits; every change is noted here.\n'
      : renderRows(entries, {
          at: ({ at }) => at,
          who: ({ actor }) => actor,
          from: ({ address }) => address,
          did: ({ action }) => action,
          to: ({ subject }) => subject,
          id: ({ id }) => id,
        }),
});

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
