/** `dsp-gateway report pin`: answers that stay. */
import type { Command } from 'commander';
import { reportIn } from './cache.js';
import { confirm } from './read-secret.js';
import { parseAnswer, type Row, showRows } from './report-output.js';
import { asTeam, ENDPOINT_OPTION, type ReportOptions, type TeamOptions, teamCommand } from './team-client.js';
import type { Terminal } from './terminal.js';

interface CreateOptions extends ReportOptions {
  readonly revision?: string;
  readonly note?: string;
}

const PINS = '/gateway/v1/pins';

export function addPinCommands(report: Command, terminal: Terminal): void {
  const pin = report.command('pin').description('Answers that stay as they are, byte for byte.');
  teamCommand(pin, 'create', 'Keep the answer to a report as it is.', [
    "report pin create 'advertiserId=1&byDate=1&_period=last_month' --note 'invoice 2026-10'",
  ])
    .argument('<query>', 'the query of a report, or its whole address')
    .option(...ENDPOINT_OPTION)
    .option('--revision <revision>', 'the meta.revision that was looked at: another one is not pinned')
    .option('--note <text>', 'what it is for')
    .action(
      asTeam<CreateOptions>(terminal, async (ask, options, asked = '') => {
        const { revision, note } = options;
        const body = {
          ...reportIn(asked, options.endpoint),
          ...(revision === undefined ? {} : { revision }),
          ...(note === undefined ? {} : { note }),
        };
        const answer = await ask('POST', PINS, body);
        showRows(terminal, options, answer, [pinRow(JSON.parse(answer) as Row)]);
      }),
    );
  addList(pin, terminal);
  teamCommand(pin, 'show', 'Show the rows of a pin.', ['report pin show pin_0123456789abcdef0123 --csv'])
    .argument('<id>', 'id of a pin')
    .action(
      asTeam<TeamOptions>(terminal, async (ask, options, id = '') => {
        const format = options.csv ? 'csv' : 'json';
        const answer = await ask('GET', `${PINS}/${encodeURIComponent(id)}?_format=${format}`);
        if (options.csv) terminal.print(answer);
        else showRows(terminal, options, answer, parseAnswer(answer).data);
      }),
    );
  teamCommand(pin, 'delete', 'Forget a pin, for good.', ['report pin delete pin_0123456789abcdef0123 --yes'])
    .argument('<id>', 'id of a pin')
    .option('--yes', 'do not ask')
    .action(
      asTeam<TeamOptions & { readonly yes?: boolean }>(terminal, async (ask, options, id = '') => {
        await confirm(terminal, `The rows of ${id} will be gone for good.`, options.yes);
        await ask('DELETE', `${PINS}/${encodeURIComponent(id)}`);
        terminal.print(options.json ? `${JSON.stringify({ deleted: id })}\n` : `deleted: ${id}\n`);
      }),
    );
}

function addList(pin: Command, terminal: Terminal): void {
  teamCommand(pin, 'list', 'List the pins of the team, the oldest first.', ['report pin list']).action(
    asTeam<TeamOptions>(terminal, async (ask, options) => {
      const data: Row[] = [];
      let meta: Row = {};
      for (let after = ''; ; ) {
        const page = parseAnswer(await ask('GET', `${PINS}?limit=1000${after}`));
        data.push(...page.data);
        meta = page.meta;
        if (typeof meta.next !== 'string') break;
        after = `&after=${encodeURIComponent(meta.next)}`;
      }
      showRows(terminal, options, JSON.stringify({ data, meta }), data.map(pinRow));
    }),
  );
}

function pinRow({ id, createdAt, revision, endpoint, query, rowCount, note }: Row): Row {
  return { id, createdAt, revision, report: `${endpoint}?${query}`, rows: rowCount, note };
}
