/** `dsp-gateway report`: a report, what was said of it and when, what changed, and answers that stay. */
import type { Command } from 'commander';
import { reportIn } from './cache.js';
import { parseAnswer, type Row, showRows } from './report-output.js';
import { addPinCommands } from './report-pin.js';
import { asTeam, ENDPOINT_OPTION, type ReportOptions, teamCommand } from './team-client.js';
import type { Terminal } from './terminal.js';

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
