/** `dsp-gateway tail` and `requests show`: requests of the data plane, live, and failed ones by id. */
import type { AnswerOf } from '../api/operations/operation.js';
import { findRequest, listRequests, tail } from '../api/operations/overview.js';
import { parseObject } from '../lib/json.js';
import { sleep } from '../lib/time.js';
import { periodOf, repeatOf, reportOf } from '../lib/words.js';
import { OUTCOMES } from '../outcome.js';
import { call, type Given, steps } from './call-command.js';
import { CommandError, EXIT } from './command-error.js';
import { group } from './define.js';
import { readId } from './flags.js';
import { sinceOf } from './overview.js';
import { plainJson, plainLine } from './plain-text.js';
import { counted } from './span.js';
import { renderFields, renderRows } from './table.js';
import { CYAN, GREEN, GREY, painter, RED, type Terminal, YELLOW } from './terminal.js';

const RETRY_MS = 1000;

export const addTailCommand = steps({
  name: 'tail',
  operation: tail,
  description: 'Show requests of teams live until Ctrl-C. A lost connection is reported and retried.',
  examples: ['tail', 'tail --team growth --outcome miss', 'tail --json | jq .path'],
  flags: {
    team: { flag: '--team <team>', about: 'only this team', read: readId },
    outcome: { flag: '--outcome <outcome>', about: `only this outcome: ${OUTCOMES.join(', ')}` },
    seconds: null,
  },
  run: (given) => untilStopped((stop) => follow(given, stop)),
});

/** Ctrl-C is not an error. */
export async function untilStopped(run: (stop: AbortSignal) => Promise<void>): Promise<void> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    await run(stopping.signal);
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

async function follow({ admin, values, options, terminal }: Given, stop: AbortSignal): Promise<void> {
  let wasConnected = false;
  let isReported = false;
  for (;;) {
    try {
      for await (const line of await admin.lines(tail, values, stop)) {
        if (isReported) terminal.say('connected again\n');
        [wasConnected, isReported] = [true, false];
        if (line !== '') terminal.print(`${shownLine(line, terminal, options.json)}\n`);
      }
    } catch (error) {
      // Unreachable or stopping; a lost permission has another exit code.
      const isAway = error instanceof CommandError && error.exitCode === EXIT.unavailable;
      if (stop.aborted || !wasConnected || !isAway) throw error;
    }
    if (stop.aborted) return;
    if (!isReported) terminal.say('lost the connection to the gateway; reconnecting\n');
    isReported = true;
    await sleep(RETRY_MS, { signal: stop });
  }
}

const COLOURS: Readonly<Record<string, number>> = {
  hit: GREEN,
  stale: YELLOW,
  'stale-if-error': YELLOW,
  failed: RED,
  error: RED,
};

/** The code of a problem, with its cause if it is known. */
const problemOf = ({ code, cause }: Readonly<Record<string, unknown>>): string =>
  plainLine(`${code}${cause === undefined ? '' : ` (${cause})`}`);

function shownLine(text: string, terminal: Terminal, json = false): string {
  const line = parseObject(text);
  if (line === null) return plainLine(text);
  if (json) return plainJson(line);
  const paint = painter(terminal);
  const of = (name: string) => plainLine(String(line[name] ?? '-'));
  if ('dropped' in line) return paint(YELLOW, `${of('dropped')} requests were not shown: too many at once`);
  const [outcome, status] = [of('outcome'), of('status')];
  const calls = Number(line.platformCalls) || 0;
  return [
    paint(GREY, of('at').slice(11, 23)),
    paint(Number(status) >= 400 ? RED : GREEN, status),
    paint(COLOURS[outcome] ?? CYAN, outcome.padEnd(14)),
    of('team').padEnd(12),
    of('method'),
    of('path'),
    ...(line.code === undefined ? [] : [paint(RED, problemOf(line))]),
    ...(line.via === undefined ? [] : [paint(CYAN, `via ${of('via')}`)]),
    paint(GREY, [`${of('ms')} ms`, `${of('rows')} rows`, `${of('bytes')} bytes`].join('  ')),
    ...(calls === 0 ? [] : [paint(CYAN, counted(calls, 'platform call'))]),
    paint(GREY, of('requestId')),
  ].join('  ');
}

type Failed = AnswerOf<typeof findRequest>;

function describeRequests(
  { requests, more, searched, processes }: AnswerOf<typeof listRequests>,
  { values }: Pick<Given, 'values'>,
): string {
  const unheard = searched < processes ? `${searched} of ${processes} processes answered in time.\n` : '';
  if (requests.length === 0) return `There are no such requests.\n${unheard}`;
  const rows = renderRows<Failed>(requests, [
    'at',
    ['team', ({ team }) => team ?? '-'],
    'status',
    ['problem', (one) => problemOf(one)],
    ['report', reportOf],
    ['advertiser', ({ report }) => report?.advertiserId ?? '-'],
    ['period', (one) => periodOf(one) ?? '-'],
    ['request id', 'requestId'],
  ]);
  const open = ['team', 'since'].filter((name) => values[name] === undefined).map((name) => `--${name}`);
  const ways = [
    ...(open.length === 0 ? [] : [`narrow the list with ${open.join(' or ')}`]),
    ...(Number(values.limit ?? 0) < 200 ? ['raise --limit'] : []),
  ];
  const rest = more === 0 ? '' : `and ${more} more${ways.length === 0 ? '' : `: ${ways.join(', or ')}`}\n`;
  return `${rows}${rest}${unheard}`;
}

export const addRequestsCommands = group(
  'requests',
  'Find failed requests.',
  call({
    name: 'list',
    operation: listRequests,
    description:
      'List requests that were answered with a problem, newest first, among the last 2,000 of each process; older ones are in the log.',
    examples: [
      'requests list --failed --since 1h',
      'requests list --team growth --json | jq .requests[].requestId',
    ],
    own: (added) => added.option('--failed', 'only reports that could not be answered, not what was refused'),
    flags: {
      outcome: null,
      part: {
        flag: '--part <part>',
        about: 'only reports that failed by this part: platform, or token (also called credential)',
      },
      code: { flag: '--code <code>', about: 'only this problem, e.g. rate_limited' },
      team: { flag: '--team <team>', about: 'only this team', read: readId },
      since: {
        flag: '--since <time>',
        about: 'since an ISO date or time, or for a duration such as 30min, 1h or 7d',
      },
      until: { flag: '--until <time>', about: 'until an ISO date or time' },
      limit: { about: 'number of requests, at most 200', usual: 50 },
    },
    prepare({ values, options, terminal }: Given<typeof listRequests, { readonly failed?: boolean }>) {
      const { since } = values;
      return {
        ...values,
        ...(options.failed ? { outcome: 'failed' } : {}),
        ...(since === undefined ? {} : { since: sinceOf(String(since), terminal.nowMs()) }),
      };
    },
    render: describeRequests,
  }),
  call({
    name: 'show',
    operation: findRequest,
    description:
      'Show a failed request by its requestId. Searched are the last 2,000 requests of each process that were answered with a problem; older ones are in the log.',
    examples: ['requests show 01JDC3T8Q5', 'requests show 01JDC3T8Q5 --json | jq .cause'],
    args: {
      id: [
        '<request id>',
        'requestId of the problem, or x-request-id of the answer; the first six characters or more if only one begins so',
        readId,
      ],
    },
    render(found) {
      const repeat = repeatOf(found);
      return renderFields([
        ['at', found.at],
        ['team', found.team ?? 'without a valid key'],
        ['key', found.key ?? '-'],
        ['request', `${found.method} ${found.path}`],
        ...(found.report === undefined
          ? []
          : ([
              ['report', reportOf(found)],
              ['advertiser', found.report.advertiserId ?? '-'],
              ['period', periodOf(found) ?? '-'],
            ] as const)),
        ...(repeat === null ? [] : [['to repeat', repeat] as const]),
        ['status', `${found.status} ${problemOf(found)}`],
        ['outcome', found.outcome ?? '-'],
        ['platform', counted(found.platformCalls, 'call')],
        ['took', `${found.ms} ms`],
      ]);
    },
  }),
);
