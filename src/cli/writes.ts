/** `dsp-gateway writes`: stop and resume them, and settle those of unknown outcome. */
import { Option } from 'commander';
import type { AnswerOf } from '../api/operations/operation.js';
import {
  getWrites,
  listUnknownWrites,
  resumeWrites,
  settleWrite,
  stopWrites,
} from '../api/operations/writes.js';
import { call, type Given } from './call-command.js';
import { CommandError, EXIT } from './command-error.js';
import { group } from './define.js';
import { renderRows } from './table.js';

type Stops = AnswerOf<typeof getWrites>;

interface OfTeam {
  readonly team?: string;
}

const OF_ONE = { flag: '--team <id>', about: 'of this team alone' };

export const addWritesCommands = group(
  'writes',
  'Stop and resume what is written to the platform, and settle writes of unknown outcome.',
  call({
    name: 'stop',
    operation: stopWrites,
    description:
      'Refuse writes of all teams, or of one, on every replica within a second. What is under way is not recalled; reports go on.',
    examples: [
      "writes stop --reason 'budgets look wrong'",
      "writes stop --team growth --reason 'a loop creates campaigns'",
    ],
    flags: { team: OF_ONE, reason: { about: 'why; those whose writes are refused are shown it' } },
    render: (stops) => describeStops(stops),
  }),
  call({
    name: 'resume',
    operation: resumeWrites,
    description: 'Lift a stop: that of all teams, or with --team that of one. Other stops stay in force.',
    examples: ["writes resume --reason 'the loop is fixed'", "writes resume --team growth --reason 'fixed'"],
    flags: { team: OF_ONE, reason: { about: 'why, for the audit' } },
    render: (stops) => describeStops(stops),
  }),
  call({
    name: 'status',
    operation: getWrites,
    description: 'Show whose writes are stopped, since when, by whom and why.',
    examples: ['writes status', 'writes status --team growth'],
    own: (added) => added.option('--team <id>', 'only what stops writes of this team'),
    json: ofTeam,
    render: (stops, given: Given<typeof getWrites, OfTeam>) =>
      describeStops(ofTeam(stops, given), given.options.team),
  }),
  call({
    name: 'list',
    operation: listUnknownWrites,
    description: 'List guarded writes of unknown outcome. Each stays charged to its day until it is settled.',
    examples: ['writes list --unknown', "writes list --unknown --json | jq -r '.writes[].id'"],
    own: (added) =>
      added.addOption(
        new Option('--unknown', 'those of unknown outcome; there is no other list').makeOptionMandatory(),
      ),
    render: ({ writes }) =>
      writes.length === 0
        ? 'There is no write of unknown outcome.\n'
        : `${renderRows(writes, ['id', 'at', 'team', 'route', 'day', 'amount', 'currency', 'why'])}Look on the platform whether it happened, then: dsp-gateway writes settle <id> happened|not\n`,
  }),
  call({
    name: 'settle',
    operation: settleWrite,
    description:
      'Record the outcome of a write after a look on the platform: if it happened it stays charged, if not its amount goes back to its day.',
    examples: ['writes settle 0c5f1d1e-7a1b-4f0e-9b57-1f2f6d1c2a33 not'],
    args: {
      id: ['<id>', 'as `writes list --unknown` shows it'],
      outcome: ['<outcome>', 'happened, or not'],
    },
    prepare({ values }) {
      const { outcome } = values;
      if (outcome === 'happened' || outcome === 'not') return values;
      throw new CommandError(`the outcome was ${outcome}; allowed is happened or not`, EXIT.usage);
    },
    render: describeSettled,
  }),
);

function ofTeam(stops: Stops, { options: { team } }: Given<typeof getWrites, OfTeam>): Stops {
  return team === undefined ? stops : { ...stops, teams: stops.teams.filter((one) => one.team === team) };
}

/** @param only the team that was asked about */
function describeStops({ all, teams }: Stops, only?: string): string {
  const stops = [...(all === null ? [] : [{ ...all, team: 'all teams' }]), ...teams];
  if (stops.length === 0)
    return only === undefined
      ? 'Nobody has stopped writes.\n'
      : `Nobody has stopped writes of the team ${only}.\n`;
  return renderRows(stops, [['stopped', 'team'], ['since', 'at'], 'by', 'reason']);
}

function describeSettled({ settled, outcome }: AnswerOf<typeof settleWrite>): string {
  const { id, team, day, amount, currency } = settled;
  if (amount === null) return `${id} is settled: its rule has no budget, so that nothing was charged\n`;
  const shown = [amount, ...(currency ? [currency] : [])].join(' ');
  return outcome === 'happened'
    ? `${id} stays charged: ${shown} of the team ${team} on ${day}\n`
    : `${id} is given back: ${shown} to the team ${team} on ${day}\n`;
}
