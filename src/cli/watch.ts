/** `dsp-gateway watch`: reports that the gateway reads by itself. */
import type { WatchAnswer, WatchPriceAnswer } from '../api/operations/watches.js';
import { parseObject } from '../lib/json.js';
import { reportIn } from './cache.js';
import { CommandError, EXIT } from './command-error.js';
import { group, show } from './define.js';
import { plainJson } from './plain-text.js';
import { confirm } from './read-secret.js';
import { asTeam, ofReport } from './report.js';
import { counted } from './span.js';
import { renderRows } from './table.js';

const WATCHES = '/gateway/v1/watches';
const pathOf = (id: string) => `${WATCHES}/${encodeURIComponent(id)}`;

export const addWatchCommands = group(
  'watch',
  'Reports that the gateway reads by itself, so that no change of the platform is missed.',
  asTeam({
    name: 'add',
    description:
      'Have the days of a report read until they are too old, final or not; replaces the watch of this id. Shows first what that costs.',
    examples: [
      "watch add 'advertiserId=1&byDate=1&_period=last_30_days' --id daily --dry-run",
      "watch add 'advertiserId=1&byDate=1&_period=last_30_days' --id daily --yes",
    ],
    call: `PUT ${WATCHES}/:id`,
    own: (added) =>
      ofReport(added)
        .requiredOption('--id <id>', 'name of the watch: lower-case letters, digits and hyphens')
        .option('--max-age-days <days>', 'age until which a day is read (default: 45)')
        .option('--dry-run', 'show what it costs, keep nothing')
        .option('--yes', 'skip confirmation'),
    async run({ ask, options, typed, terminal }) {
      const { endpoint, id = '', maxAgeDays, dryRun, yes } = options;
      const body = { ...reportIn(typed, endpoint), maxAgeDays: daysIn(maxAgeDays) };
      const put = async (query: string) =>
        answerIn(await ask({ method: 'PUT', path: `${pathOf(id)}${query}`, body }));
      const price = (await put('?dryRun=1')) as unknown as WatchPriceAnswer;
      if (dryRun) return show(terminal, options, price, (one) => `would cost ${inWords(one)}\n`);
      await confirm(terminal, `Watch ${id} will cost ${inWords(price)}.`, yes);
      const watch = (await put('')) as unknown as WatchAnswer;
      show(terminal, options, watch, (one) => `${one.state}: ${one.id}, ${inWords(one)}\n${whyNot(one)}`);
    },
  }),
  asTeam({
    name: 'list',
    description: 'List the watches of the team: state, cost, last and next read, and what failed.',
    examples: ['watch list'],
    call: `GET ${WATCHES}`,
    async run({ ask, options, terminal }) {
      const answer = answerIn(await ask({ method: 'GET', path: WATCHES }));
      const watches = answer.data as readonly WatchAnswer[];
      show(terminal, options, answer, () =>
        watches.length === 0
          ? 'no watches\n'
          : renderRows(watches, [
              'id',
              'state',
              ['report', ({ endpoint, query }) => `${endpoint}?${query}`],
              ['calls a day', 'callsPerDay'],
              'days',
              ['last read', 'readAt'],
              ['next read', 'nextReadAt'],
              ['problem', ({ reason, failed }) => reason ?? failed?.message],
            ]),
      );
    },
  }),
  asTeam({
    name: 'remove',
    description: 'Stop reading a report. What was read stays.',
    examples: ['watch remove daily'],
    call: `DELETE ${WATCHES}/:id`,
    own: (added) => added.argument('<id>', 'name of the watch'),
    async run({ ask, options, typed: id, terminal }) {
      await ask({ method: 'DELETE', path: pathOf(id) });
      terminal.print(options.json ? `${plainJson({ removed: id })}\n` : `removed: ${id}\n`);
    },
  }),
);

function answerIn(text: string): Readonly<Record<string, unknown>> {
  const answer = parseObject(text);
  if (answer !== null) return answer;
  throw new CommandError("the server at this address is not a gateway's data plane", EXIT.unavailable);
}

function daysIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[0-9]{1,4}$/.test(text)) return Number(text);
  throw new CommandError('--max-age-days must be a whole number', EXIT.usage);
}

function inWords({ callsPerDay, days }: WatchPriceAnswer): string {
  return `about ${counted(callsPerDay, 'platform call')} a day for ${counted(days, 'day')}`;
}

function whyNot({ reason }: WatchAnswer): string {
  return reason === null ? '' : `not read yet: ${reason}\n`;
}
