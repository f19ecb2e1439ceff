/** `dsp-gateway report`: a report, what was said of it and when, what changed, and answers that stay. */
import type { Command } from 'commander';
import { toCsv } from '../reports/rows/row-formats.js';
import { ENDPOINT_OPTION, REPORT_ARGUMENT, reportIn } from './cache.js';
import { type Ask, type Call, type ClientOptions, DATA_PLANE, openPlane } from './client.js';
import { CommandError, EXIT } from './command-error.js';
import { type AddCommand, type CommandHead, command, group } from './define.js';
import { plainJson, plainText } from './plain-text.js';
import { confirm } from './read-secret.js';
import { type Cell, renderTable } from './table.js';
import type { Terminal } from './terminal.js';

type Row = Readonly<Record<string, unknown>>;

interface Options extends ClientOptions {
  readonly endpoint?: string;
  readonly revision?: string;
  readonly note?: string;
  readonly from?: string;
  readonly to?: string;
  readonly yes?: boolean;
}

/** A command as it was typed. */
interface Given {
  readonly ask: Ask;
  readonly options: Options;
  /** Its argument. */
  readonly typed: string;
  readonly terminal: Terminal;
}

interface Entry extends CommandHead {
  /** The call of the data plane that it stands for, where a remedy may name it. */
  readonly call?: string;
  readonly run: (given: Given) => Promise<void>;
}

/** A command that asks as a team. */
const asTeam = ({ call, run, ...head }: Entry): AddCommand =>
  command<Options>({
    ...head,
    plane: DATA_PLANE,
    meaning: { call, members: new Map() },
    async run({ options, typed: [typed = ''], terminal }) {
      if (options.json && options.csv)
        throw new CommandError('--json and --csv exclude each other', EXIT.usage);
      await run({ ask: openPlane(DATA_PLANE, options, terminal.env).ask, options, typed, terminal });
    },
  });

/** Asks for an answer of rows, and shows it. @param rowsOf those of a table, from one of the answer */
async function showAnswer(
  { ask, options, terminal }: Given,
  call: Call,
  rowsOf: (row: Row) => readonly Row[],
): Promise<void> {
  const answer = await ask(call);
  // The gateway's own CSV is printed byte for byte: it is for a file.
  if (call.path.includes('_format=csv')) terminal.print(answer);
  else showRows(terminal, options, answer, parseAnswer(answer).data.flatMap(rowsOf));
}

const get = (path: string, query: Readonly<Record<string, string>> | URLSearchParams): Call => ({
  method: 'GET',
  path: `${path}?${new URLSearchParams(query)}`,
});
const formatOf = ({ csv }: Options) => (csv ? 'csv' : 'json');
const ofReport = (added: Command): Command => added.argument(...REPORT_ARGUMENT).option(...ENDPOINT_OPTION);
const ofPin = (added: Command): Command => added.argument('<id>', 'id of a pin');

const PINS = '/gateway/v1/pins';

const addPinCommands = group(
  'pin',
  'Answers that stay as they are, byte for byte.',
  asTeam({
    name: 'create',
    description: 'Keep the answer to a report as it is.',
    examples: ["report pin create 'advertiserId=1&byDate=1&_period=last_month' --note 'invoice 2026-10'"],
    call: `POST ${PINS}`,
    own: (added) =>
      ofReport(added)
        .option('--revision <revision>', 'the meta.revision that was looked at: another one is not pinned')
        .option('--note <text>', 'what it is for'),
    async run({ ask, options, typed, terminal }) {
      const { endpoint, revision, note } = options;
      const body = { ...reportIn(typed, endpoint), revision, note };
      const answer = await ask({ method: 'POST', path: PINS, body });
      showRows(terminal, options, answer, [pinRow(JSON.parse(answer) as Row)]);
    },
  }),
  asTeam({
    name: 'list',
    description: 'List the pins of the team, the oldest first.',
    examples: ['report pin list'],
    call: `GET ${PINS}`,
    async run({ ask, options, terminal }) {
      const data: Row[] = [];
      let meta: Row = { next: '' };
      for (let after = {}; typeof meta.next === 'string'; after = { after: meta.next }) {
        const page = parseAnswer(await ask(get(PINS, { limit: '1000', ...after })));
        data.push(...page.data);
        meta = page.meta;
      }
      showRows(terminal, options, JSON.stringify({ data, meta }), data.map(pinRow));
    },
  }),
  asTeam({
    name: 'show',
    description: 'Show the rows of a pin.',
    examples: ['report pin show pin_0123456789abcdef0123 --csv'],
    call: `GET ${PINS}/:id`,
    own: ofPin,
    run: (given) =>
      showAnswer(
        given,
        get(`${PINS}/${encodeURIComponent(given.typed)}`, { _format: formatOf(given.options) }),
        (row) => [row],
      ),
  }),
  asTeam({
    name: 'delete',
    description: 'Delete a pin for good.',
    examples: ['report pin delete pin_0123456789abcdef0123 --yes'],
    call: `DELETE ${PINS}/:id`,
    own: (added) => ofPin(added).option('--yes', 'do not ask'),
    async run({ ask, options, typed: id, terminal }) {
      await confirm(terminal, `The rows of ${id} will be gone for good.`, options.yes);
      await ask({ method: 'DELETE', path: `${PINS}/${encodeURIComponent(id)}` });
      terminal.print(options.json ? `${JSON.stringify({ deleted: id })}\n` : `deleted: ${id}\n`);
    },
  }),
);

export const addReportCommands = group(
  'report',
  'Reports as a team asks for them: now, at past moments, compared, and pinned.',
  asTeam({
    name: 'get',
    description: 'Ask for a report.',
    examples: [
      "report get 'advertiserId=1&byDate=1&_period=last_7_days'",
      "report get 'advertiserId=1&byDate=1&_period=last_7_days&_asOf=2026-11-09' --csv > report.csv",
    ],
    own: ofReport,
    run(given) {
      const { endpoint, query } = reportIn(given.typed, given.options.endpoint);
      const search = new URLSearchParams(query);
      search.set('_format', formatOf(given.options));
      return showAnswer(given, get(`/api/v1/report/${endpoint}`, search), (row) => [row]);
    },
  }),
  asTeam({
    name: 'revisions',
    description: 'List the revisions of each day of a report, and since when each is known.',
    examples: ["report revisions 'advertiserId=1&byDate=1&_period=last_7_days'"],
    own: ofReport,
    run(given) {
      const report = reportIn(given.typed, given.options.endpoint);
      return showAnswer(given, get('/gateway/v1/revisions', report), revisionRows);
    },
  }),
  asTeam({
    name: 'diff',
    description: 'Show the changes of a report between two moments, one line per value.',
    examples: [
      "report diff 'advertiserId=1&byDate=1&_period=last_month' --from first",
      "report diff 'advertiserId=1&byDate=1&_period=last_month' --from 2026-11-03 --to 2026-11-09 --csv > changes.csv",
    ],
    own: (added) =>
      ofReport(added)
        .requiredOption('--from <moment>', 'an instant, a day that is over, first, or the id of a pin')
        .option('--to <moment>', 'an instant, a day that is over, or latest', 'latest'),
    run(given) {
      const { endpoint, from = '', to = '', csv } = given.options;
      const format = csv ? { _format: 'csv' } : {};
      const query = { ...reportIn(given.typed, endpoint), from, to, ...format };
      return showAnswer(given, get('/gateway/v1/diff', query), cellRows);
    },
  }),
  addPinCommands,
);

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

/** @param shown rows of a table, with the same members in each */
function showRows(terminal: Terminal, options: Options, answer: string, shown: readonly Row[]): void {
  const columns = [...new Set(shown.flatMap(Object.keys))];
  if (options.json) terminal.print(`${plainJson(JSON.parse(answer), 2)}\n`);
  else if (options.csv)
    terminal.print(toCsv(shown.map((row) => JSON.stringify(row)).join(',\n'), columns, { bom: false }));
  else if (shown.length === 0) terminal.print('nothing\n');
  else {
    const cells = shown.map((row) => columns.map((column) => cellOf(row[column])));
    terminal.print(plainText(renderTable(columns, cells)));
  }
}

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  return typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value);
}

function pinRow({ id, createdAt, revision, endpoint, query, rowCount, note }: Row): Row {
  return { id, createdAt, revision, report: `${endpoint}?${query}`, rows: rowCount, note };
}

/** A day that was never asked for is shown, too. */
function revisionRows({ date, revisions }: Row): Row[] {
  const all = Array.isArray(revisions) ? (revisions as Row[]) : [];
  if (all.length === 0) return [{ date, kind: 'never asked' }];
  return all.map(({ id, kind, void: why, knownFrom, confirmedUntil, ageDays, rowCount, totals }) => {
    const shown = why === undefined ? kind : `${kind}: ${why}`;
    return { date, kind: shown, id, knownFrom, confirmedUntil, ageDays, rowCount, ...(totals as Row | null) };
  });
}

function cellRows({ changed, kind, ...dimensions }: Row): Row[] {
  return Object.entries((changed ?? {}) as Record<string, Row>).map(
    ([column, { old, new: now, diff = null, percent = null }]) => {
      return { ...dimensions, kind, column, old, new: now, diff, percent };
    },
  );
}
