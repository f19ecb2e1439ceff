/** `dsp-gateway report`: a report, what was said of it and when, what changed, and answers that stay. */
import type { Command } from 'commander';
import { toCsv } from '../reports/rows/row-formats.js';
import { reportIn } from './cache.js';
import { CommandError } from './command-error.js';
import { EXIT } from './exit-codes.js';
import { plainJson, plainText } from './plain-text.js';
import { confirm } from './read-secret.js';
import { type Cell, renderTable } from './table.js';
import { asTeam, ENDPOINT_OPTION, type ReportOptions, type TeamOptions, teamCommand } from './team-client.js';
import type { Terminal } from './terminal.js';

// What the data plane said of reports, for people, for scripts and for files.

type Row = Readonly<Record<string, unknown>>;

/** @throws CommandError when it is no answer of the data plane */
function parseAnswer(text: string): { readonly data: readonly Row[]; readonly meta: Row } {
  try {
    const value = JSON.parse(text) as { data?: unknown; meta?: unknown };
    if (Array.isArray(value.data)) return { data: value.data as Row[], meta: (value.meta ?? {}) as Row };
  } catch {
    // Said below.
  }
  throw new CommandError('what answers there is no data plane of a gateway', EXIT.unavailable);
}

/** @param rows for a table, with the same members in each */
function showRows(terminal: Terminal, options: TeamOptions, answer: string, rows: readonly Row[]): void {
  const columns = [...new Set(rows.flatMap(Object.keys))];
  if (options.json) terminal.print(`${plainJson(JSON.parse(answer), 2)}\n`);
  else if (options.csv)
    terminal.print(toCsv(rows.map((row) => JSON.stringify(row)).join(',\n'), columns, { bom: false }));
  else if (rows.length === 0) terminal.print('nothing\n');
  else
    terminal.print(
      plainText(
        renderTable(
          columns,
          rows.map((row) => columns.map((column) => cellOf(row[column]))),
        ),
      ),
    );
}

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  return typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value);
}

// `dsp-gateway report pin`: answers that stay.

interface CreateOptions extends ReportOptions {
  readonly revision?: string;
  readonly note?: string;
}

const PINS = '/gateway/v1/pins';

function addPinCommands(report: Command, terminal: Terminal): void {
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

const QUERY = 'the query of a report, or its whole address';

export function addReportCommands(program: Command, terminal: Terminal): void {
  const report = program
    .command('report')
    .description('Reports as a team asks for them: now, at past moments, compared, and pinned.');
  addGet(report, terminal);
  addRevisions(report, terminal);
  addDiff(report, terminal);
  addPinCommands(report, terminal);
}

function addGet(report: Command, terminal: Terminal): void {
  teamCommand(report, 'get', 'Ask for a report.', [
    "report get 'advertiserId=1&byDate=1&_period=last_7_days'",
    "report get 'advertiserId=1&byDate=1&_period=last_7_days&_asOf=2026-11-09' --csv > report.csv",
  ])
    .argument('<query>', QUERY)
    .option(...ENDPOINT_OPTION)
    .action(
      asTeam<ReportOptions>(terminal, async (ask, options, asked = '') => {
        const { endpoint, query } = reportIn(asked, options.endpoint);
        const search = new URLSearchParams(query);
        search.set('_format', options.csv ? 'csv' : 'json');
        const answer = await ask('GET', `/api/v1/report/${endpoint}?${search}`);
        // As it came, byte for byte: it is for a file.
        if (options.csv) terminal.print(answer);
        else showRows(terminal, options, answer, parseAnswer(answer).data);
      }),
    );
}

function addRevisions(report: Command, terminal: Terminal): void {
  teamCommand(report, 'revisions', 'List what was said of each day of a report, and since when.', [
    "report revisions 'advertiserId=1&byDate=1&_period=last_7_days'",
  ])
    .argument('<query>', QUERY)
    .option(...ENDPOINT_OPTION)
    .action(
      asTeam<ReportOptions>(terminal, async (ask, options, asked = '') => {
        const search = new URLSearchParams(reportIn(asked, options.endpoint));
        const answer = await ask('GET', `/gateway/v1/revisions?${search}`);
        showRows(terminal, options, answer, parseAnswer(answer).data.flatMap(revisionRows));
      }),
    );
}

/** A day that was never asked for is shown, too. */
function revisionRows({ date, revisions }: Row): Row[] {
  const all = Array.isArray(revisions) ? (revisions as Row[]) : [];
  if (all.length === 0) return [{ date, kind: 'never asked' }];
  return all.map(({ id, kind, void: why, knownFrom, confirmedUntil, ageDays, rowCount, totals }) => ({
    ...{
      date,
      kind: why === undefined ? kind : `${kind}: ${why}`,
      id,
      knownFrom,
      confirmedUntil,
      ageDays,
      rowCount,
    },
    ...(totals as Row | null),
  }));
}

interface DiffOptions extends ReportOptions {
  readonly from: string;
  readonly to: string;
}

function addDiff(report: Command, terminal: Terminal): void {
  teamCommand(report, 'diff', 'Show what became of a report between two moments, a line for each value.', [
    "report diff 'advertiserId=1&byDate=1&_period=last_month' --from first",
    "report diff 'advertiserId=1&byDate=1&_period=last_month' --from 2026-11-03 --to 2026-11-09 --csv > changes.csv",
  ])
    .argument('<query>', QUERY)
    .option(...ENDPOINT_OPTION)
    .requiredOption('--from <moment>', 'an instant, a day that is over, first, or the id of a pin')
    .option('--to <moment>', 'an instant, a day that is over, or latest', 'latest')
    .action(
      asTeam<DiffOptions>(terminal, async (ask, options, asked = '') => {
        const { from, to } = options;
        const search = new URLSearchParams({ ...reportIn(asked, options.endpoint), from, to });
        if (options.csv) search.set('_format', 'csv');
        const answer = await ask('GET', `/gateway/v1/diff?${search}`);
        if (options.csv) terminal.print(answer);
        else showRows(terminal, options, answer, parseAnswer(answer).data.flatMap(cellRows));
      }),
    );
}

function cellRows({ changed, kind, ...dimensions }: Row): Row[] {
  return Object.entries((changed ?? {}) as Record<string, Row>).map(
    ([column, { old, new: now, diff = null, percent = null }]) => ({
      ...{ ...dimensions, kind, column, old, new: now, diff, percent },
    }),
  );
}
