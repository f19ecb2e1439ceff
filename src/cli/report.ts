/** `dsp-gateway report`: reports, revisions, diffs and pins. */
import type { Command } from 'commander';
import { parseObject } from '../lib/json.js';
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
  readonly id?: string;
  readonly maxAgeDays?: string;
  readonly dryRun?: boolean;
}

interface Given {
  readonly ask: Ask;
  readonly options: Options;
  readonly typed: string;
  readonly terminal: Terminal;
}

interface Entry extends CommandHead {
  /** Its call of the data plane, if a remedy may name it. */
  readonly call?: string;
  readonly run: (given: Given) => Promise<void>;
}

export const asTeam = ({ call, run, ...head }: Entry): AddCommand =>
  command<Options>({
    ...head,
    plane: DATA_PLANE,
    apiCall: { call, members: new Map() },
    async run({ options, typed: [typed = ''], terminal }) {
      if (options.json && options.csv)
        throw new CommandError('--json and --csv exclude each other', EXIT.usage);
      await run({ ask: openPlane(DATA_PLANE, options, terminal.env).ask, options, typed, terminal });
    },
  });

/** Fetches and shows rows. @param rowsOf table rows of a row of the answer; default: the row */
async function showAnswer(
  { ask, options, terminal }: Given,
  call: Call,
  rowsOf: (row: Row) => readonly Row[] = (row) => [row],
): Promise<void> {
  const answer = await ask(call);
  if (call.path.includes('_format=csv')) printCsv(terminal, answer);
  else showRows(terminal, options, answer, parseAnswer(answer).data.flatMap(rowsOf));
}

const get = (path: string, query: Readonly<Record<string, string>> | URLSearchParams): Call => ({
  method: 'GET',
  path: `${path}?${new URLSearchParams(query)}`,
});
const formatOf = ({ csv }: Options) => (csv ? 'csv' : 'json');
export const ofReport = (added: Command): Command =>
  added.argument(...REPORT_ARGUMENT).option(...ENDPOINT_OPTION);
const ofPin = (added: Command): Command => added.argument('<id>', 'pin id');

const PINS = '/gateway/v1/pins';

const addPinCommands = group(
  'pin',
  'Stored answers that never change.',
  asTeam({
    name: 'create',
    description: 'Pin the answer of a report.',
    examples: ["report pin create 'advertiserId=1&byDate=1&_period=last_month' --note 'invoice 2026-10'"],
    call: `POST ${PINS}`,
    own: (added) =>
      ofReport(added)
        .option('--revision <revision>', 'expected meta.revision; another one is refused')
        .option('--note <text>', 'purpose'),
    async run({ ask, options, typed, terminal }) {
      const { endpoint, revision, note } = options;
      const body = { ...reportIn(typed, endpoint), revision, note };
      const answer = await ask({ method: 'POST', path: PINS, body });
      showRows(terminal, options, answer, [pinRow(JSON.parse(answer) as Row)]);
    },
  }),
  asTeam({
    name: 'list',
    description: 'List the pins of the team, oldest first.',
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
      ),
  }),
  asTeam({
    name: 'delete',
    description: 'Delete a pin permanently.',
    examples: ['report pin delete pin_0123456789abcdef0123 --yes'],
    call: `DELETE ${PINS}/:id`,
    own: (added) => ofPin(added).option('--yes', 'skip confirmation'),
    async run({ ask, options, typed: id, terminal }) {
      await confirm(terminal, `The rows of ${id} will be deleted permanently.`, options.yes);
      await ask({ method: 'DELETE', path: `${PINS}/${encodeURIComponent(id)}` });
      terminal.print(options.json ? `${JSON.stringify({ deleted: id })}\n` : `deleted: ${id}\n`);
    },
  }),
);

export const addReportCommands = group(
  'report',
  'Reports of a team: current, past, compared and pinned.',
  asTeam({
    name: 'get',
    description: 'Get a report.',
    examples: [
      "report get 'advertiserId=1&byDate=1&_period=last_7_days'",
      "report get 'advertiserId=1&byDate=1&_period=last_7_days&_asOf=2026-11-09' --csv > report.csv",
    ],
    own: ofReport,
    run(given) {
      const { endpoint, query } = reportIn(given.typed, given.options.endpoint);
      const search = new URLSearchParams(query);
      search.set('_format', formatOf(given.options));
      return showAnswer(given, get(`/api/v1/report/${endpoint}`, search));
    },
  }),
  asTeam({
    name: 'revisions',
    description: 'List the revisions of each day of a report.',
    examples: ["report revisions 'advertiserId=1&byDate=1&_period=last_7_days'"],
    own: ofReport,
    run(given) {
      const report = reportIn(given.typed, given.options.endpoint);
      return showAnswer(given, get('/gateway/v1/revisions', report), revisionRows);
    },
  }),
  asTeam({
    name: 'diff',
    description: 'Show the changed values of a report between two times.',
    examples: [
      "report diff 'advertiserId=1&byDate=1&_period=last_month' --from first",
      "report diff 'advertiserId=1&byDate=1&_period=last_month' --from 2026-11-03 --to 2026-11-09 --csv > changes.csv",
    ],
    own: (added) =>
      ofReport(added)
        .requiredOption('--from <moment>', 'a time, a past day, first, or a pin id')
        .option('--to <moment>', 'a time, a past day, or latest', 'latest'),
    run(given) {
      const { endpoint, from = '', to = '', csv } = given.options;
      const format = csv ? { _format: 'csv' } : {};
      const query = { ...reportIn(given.typed, endpoint), from, to, ...format };
      return showAnswer(given, get('/gateway/v1/diff', query), cellRows);
    },
  }),
  addPinCommands,
);

const LEARN = '/gateway/v1/learn';

export const addLearnCommand = asTeam({
  name: 'learn',
  description:
    'Have a period of a report and its parts fetched now and compared, so that reports like it can be cached by day.',
  examples: ["learn 'advertiserId=1&byDate=1&_period=last_7_days'"],
  call: `POST ${LEARN}`,
  own: ofReport,
  async run({ ask, options, typed, terminal }) {
    const body = reportIn(typed, options.endpoint);
    const answer = await ask({ method: 'POST', path: LEARN, body });
    const { state, started } = parseObject(answer) ?? {};
    if (options.json) terminal.print(`${plainJson(JSON.parse(answer), 2)}\n`);
    else terminal.print(`${started === true ? LEARNING : (STATES[String(state)] ?? String(state))}\n`);
  },
});

const LEARNING =
  'started: at most eight platform calls. "dsp-gateway cache explain" shows what they find, within a minute.';
const STATES: Readonly<Record<string, string>> = {
  unknown: 'not started: the platform calls that such comparisons may make on one day are spent',
  proving: 'already under way',
  proven: 'nothing to do: reports like this one are cached by day',
  refuted:
    'not started: reports like this one are fetched as a whole; "dsp-gateway cache explain" says why, and until when',
};

function parseAnswer(text: string): { readonly data: readonly Row[]; readonly meta: Row } {
  const { data, meta } = parseObject(text) ?? {};
  if (Array.isArray(data)) return { data, meta: (meta ?? {}) as Row };
  throw new CommandError("the server at this address is not a gateway's data plane", EXIT.unavailable);
}

/** @param shown rows of a table, with the same members in each */
function showRows(terminal: Terminal, options: Options, answer: string, shown: readonly Row[]): void {
  const columns = [...new Set(shown.flatMap(Object.keys))];
  if (options.json) terminal.print(`${plainJson(JSON.parse(answer), 2)}\n`);
  else if (options.csv)
    printCsv(terminal, toCsv(shown.map((row) => JSON.stringify(row)).join(',\n'), columns, { bom: false }));
  else if (shown.length === 0) terminal.print('no rows\n');
  else {
    const cells = shown.map((row) => columns.map((column) => cellOf(row[column])));
    terminal.print(plainText(renderTable(columns, cells)));
  }
}

/** Unchanged into a file or a pipe. A terminal would obey control characters of the platform's names. */
function printCsv({ isScreen = false, print }: Terminal, csv: string): void {
  print(isScreen ? plainText(csv.replaceAll('\r\n', '\n')) : csv);
}

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  return typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value);
}

function pinRow({ id, createdAt, revision, endpoint, query, rowCount, note }: Row): Row {
  return { id, createdAt, revision, report: `${endpoint}?${query}`, rows: rowCount, note };
}

/** A day without revisions has a row, too. */
function revisionRows({ date, revisions }: Row): Row[] {
  const all = Array.isArray(revisions) ? (revisions as Row[]) : [];
  if (all.length === 0) return [{ date, kind: 'not recorded' }];
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
