/** `dsp-gateway changes`: which days of reports changed, a line each; with `--follow` also what changes from now on. */
import { InvalidArgumentError } from 'commander';
import { whatHappened } from '../api/operations/change-words.js';
import type { Change } from '../api/operations/past.js';
import { parseOrNull } from '../lib/json.js';
import { sleep } from '../lib/time.js';
import { type ClientOptions, DATA_PLANE, openPlane, type PlaneAnswer } from './client.js';
import { CommandError, EXIT } from './command-error.js';
import { command } from './define.js';
import { plainJson, plainLine } from './plain-text.js';
import { Refused } from './refusal.js';
import { untilStopped } from './tail.js';
import { CYAN, GREEN, GREY, painter, RED, type Terminal, YELLOW } from './terminal.js';

interface Options extends ClientOptions {
  readonly follow?: boolean;
  readonly endpoint?: string;
  readonly advertiser?: string;
  readonly split?: string;
  readonly series?: string;
  readonly since?: string;
  readonly rows?: boolean;
}

const CHANGES = '/gateway/v1/changes';

export const addChangesCommand = command<Options>({
  name: 'changes',
  description:
    'Show which days of reports changed and how, oldest first; with --follow also what changes until Ctrl-C. Standard error ends with the offset to go on from. A lost connection and a gateway that asks to wait are reported and retried.',
  examples: [
    'changes --advertiser 1',
    'changes --follow --endpoint campaigns/get --split date,campaign',
    'dsp-gateway changes --follow --json --rows | jq .value.date',
  ],
  plane: DATA_PLANE,
  apiCall: {
    call: `GET ${CHANGES}`,
    members: new Map([
      ['offset', '--since'],
      ['advertiserId', '--advertiser'],
    ]),
  },
  own: (added) =>
    added
      .option('--follow', 'go on with what changes, until Ctrl-C')
      .option('--endpoint <path>', 'only reports of this endpoint, e.g. campaigns/get')
      .option('--advertiser <list>', 'only reports of these advertisers')
      .option('--split <list>', 'only reports with this split, e.g. date,campaign')
      .option('--series <id>', 'only this report: value.series of a message')
      .option(
        '--since <offset>',
        'the offset of an earlier run, -1 (oldest kept change), or now (default: -1; with --follow now)',
        readOffset,
      )
      .option('--rows', 'with --json: each message has the rows of its day'),
  async run({ options, terminal }) {
    if (options.csv) throw new CommandError('--csv: changes are shown as lines, or with --json', EXIT.usage);
    if (options.rows && !options.json)
      throw new CommandError('--rows: rows are shown with --json only', EXIT.usage);
    const { answer } = openPlane(DATA_PLANE, options, terminal.env);
    await untilStopped((stop) => show({ options, terminal, answer, stop }));
  },
});

/** `-1` is a value, not a flag. */
function readOffset(text: string): string {
  if (!/^(?:-1|now|\w[\w-]*)$/.test(text)) throw new InvalidArgumentError('It is -1, now, or an offset.');
  return text;
}

interface Shown {
  readonly options: Options;
  readonly terminal: Terminal;
  readonly answer: ReturnType<typeof openPlane>['answer'];
  readonly stop: AbortSignal;
}

/** Prints answer by answer: to the end of the feed, or until stopped. */
async function show({ options, terminal, answer, stop }: Shown): Promise<void> {
  const { follow = false, since = follow ? 'now' : '-1', json } = options;
  let [offset, cursor, isAnswered, isWaiting] = [since, '', false, false];
  try {
    for (;;) {
      let found: PlaneAnswer;
      try {
        found = await answer({ method: 'GET', path: pathOf(options, offset, cursor) }, stop);
      } catch (error) {
        const waitMs = stop.aborted ? null : waitOf(error, isAnswered, follow);
        if (waitMs === null) throw error;
        if (!isWaiting) terminal.say(noteOf(error, waitMs));
        isWaiting = true;
        await sleep(waitMs, { signal: stop });
        continue;
      }
      if (isWaiting) terminal.say('answered again\n');
      [isAnswered, isWaiting] = [true, false];
      for (const change of changesIn(found)) terminal.print(`${shownChange(change, terminal, json)}\n`);
      offset = found.headers.get('stream-next-offset') ?? offset;
      cursor = found.headers.get('stream-cursor') ?? '';
      if (!follow && found.headers.has('stream-up-to-date')) return;
    }
  } catch (error) {
    if (!(error instanceof Refused) || error.problem.code !== 'cursor_too_old') throw error;
    isAnswered = false;
    throw new CommandError(TOO_OLD, error.exitCode);
  } finally {
    if (isAnswered) terminal.say(`to go on: --since ${offset}\n`);
  }
}

const TOO_OLD =
  'Changes after this offset are no longer known: they were trimmed, or the end of the feed was lost or restored from a backup.\n' +
  'Take a new offset with "dsp-gateway changes --since now", read your ranges anew with "dsp-gateway report get", then go on from that offset.';

function pathOf(options: Options, offset: string, cursor: string): string {
  const { follow, endpoint, advertiser: advertiserId, split, series, rows } = options;
  // The end is asked for without waiting: from then on no change is missed.
  const isLive = follow === true && offset !== 'now';
  const live = isLive ? { live: 'long-poll', cursor: cursor || undefined } : {};
  const given = { offset, ...live, endpoint, advertiserId, split, series, rows: rows ? '1' : undefined };
  const pairs = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return `${CHANGES}?${new URLSearchParams(pairs)}`;
}

const RETRY_S = 1;

/** @returns milliseconds until the next try; null: there is none */
function waitOf(error: unknown, isAnswered: boolean, follow: boolean): number | null {
  if (!(error instanceof CommandError) || error.exitCode !== EXIT.unavailable) return null;
  const advisedS = error instanceof Refused ? error.retryAfterS : null;
  // A gateway that never answered may have another address.
  if (!isAnswered && (!follow || advisedS === null)) return null;
  return Math.max(advisedS ?? 0, RETRY_S) * 1000;
}

function noteOf(error: unknown, waitMs: number): string {
  if (!(error instanceof Refused)) return 'lost the connection to the gateway; reconnecting\n';
  return `${plainLine(error.problem.detail)} Next try in ${waitMs / 1000} s.\n`;
}

/** @throws CommandError for what is no answer of the feed. A long poll without news has no body */
function changesIn({ text, headers }: PlaneAnswer): readonly Change[] {
  const list = text === '' ? [] : parseOrNull(text);
  if (Array.isArray(list) && headers.has('stream-next-offset')) return list as Change[];
  throw new CommandError("the server at this address is not a gateway's data plane", EXIT.unavailable);
}

const COLOURS: Readonly<Record<string, number>> = {
  first: GREEN,
  restated: YELLOW,
  reopened: YELLOW,
  void: RED,
  erased: RED,
};
const WORDS_WIDTH = 25;

/** Time, what happened, report, day, measures. */
function shownChange(change: Change, terminal: Terminal, json = false): string {
  if (json) return plainJson(change);
  const { type, key, value = {}, headers } = change;
  const paint = painter(terminal);
  const at = paint(GREY, plainLine(headers.timestamp.slice(0, 19).replace('T', ' ')));
  if (type === 'grant') {
    const right = headers.operation === 'insert' ? 'may be read now' : 'may no longer be read';
    return `${at}  ${paint(CYAN, plainLine(`advertiser ${key} ${right}`))}`;
  }
  const [series = '', date = ''] = key.split(' ');
  const report =
    value.report === undefined ? `series ${value.series ?? series}` : `${value.endpoint}?${value.report}`;
  return [
    at,
    paint(COLOURS[String(headers.kind)] ?? GREY, plainLine(whatHappened(headers)).padEnd(WORDS_WIDTH)),
    plainLine(report),
    plainLine(date),
    plainLine(measuresOf(change)),
  ]
    .join('  ')
    .trimEnd();
}

/** Those that differ, as `spent 210.11 → 214.52`; of a first sight all. Without rows there are none. */
function measuresOf({ value, old_value: old }: Change): string {
  const [now, before] = [value?.totals, old?.totals];
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(now ?? {})])];
  const differing = names.filter((name) => before?.[name] !== now?.[name]);
  return differing
    .map((name) => {
      const then = before?.[name];
      return `${name} ${then === undefined ? '' : `${then} → `}${now?.[name] ?? '–'}`;
    })
    .join(', ');
}
