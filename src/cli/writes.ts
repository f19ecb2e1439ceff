/** `dsp-gateway writes`: the brake, and writes of unknown outcome. */
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

type OfTeam = { readonly team?: string };
const OF_ONE = { flag: '--team <id>', about: 'only this team' };

export const addWritesCommands = group(
  'writes',
  'Stop and resume writes to the platform; settle writes of unknown outcome.',
  call({
    name: 'stop',
    operation: stopWrites,
    description:
      'Refuse writes of one or all teams, on all replicas within a second. Writes in progress continue; reports are unaffected.',
    examples: [
      "writes stop --reason 'budgets look wrong'",
      "writes stop --team growth --reason 'a loop creates campaigns'",
    ],
    flags: { team: OF_ONE, reason: { about: 'shown to callers whose writes are refused' } },
    render: (stops) => describeStops(stops),
  }),
  call({
    name: 'resume',
    operation: resumeWrites,
    description:
      'Resume writes that were stopped for all teams, or with --team for one team. Other stops remain.',
    examples: ["writes resume --reason 'the loop is fixed'", "writes resume --team growth --reason 'fixed'"],
    flags: { team: OF_ONE, reason: { about: 'recorded in the audit' } },
    render: (stops) => describeStops(stops),
  }),
  call({
    name: 'status',
    operation: getWrites,
    description: 'Show stopped writes with time, actor and reason.',
    examples: ['writes status', 'writes status --team growth'],
    own: (added) => added.option('--team <id>', 'only stops that apply to this team'),
    json: ofTeam,
    render: (stops, given: Given<typeof getWrites, OfTeam>) =>
      describeStops(ofTeam(stops, given), given.options.team),
  }),
  call({
    name: 'list',
    operation: listUnknownWrites,
    description:
      'List guarded writes of unknown outcome, the only ones that are listed. Their budget stays reserved until settled.',
    examples: ['writes list', "writes list --json | jq -r '.writes[].id'"],
    own: (added) => added.option('--unknown', 'writes of unknown outcome (default)'),
    render: ({ writes }) =>
      writes.length === 0
        ? 'There is no write of unknown outcome.\n'
        : `${renderRows(writes, ['id', 'at', 'team', 'route', 'day', 'amount', 'currency', 'why'])}Check on the platform whether each happened, then: dsp-gateway writes settle <id> happened|not\n`,
  }),
  call({
    name: 'settle',
    operation: settleWrite,
    description:
      "Record the outcome of a write, after checking on the platform. happened: its amount stays charged; not: its amount goes back to the day's budget.",
    examples: ['writes settle 0c5f1d1e-7a1b-4f0e-9b57-1f2f6d1c2a33 not'],
    args: {
      id: ['<id>', 'write id, from `writes list`'],
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
  if (team === undefined) return stops;
  const isOfTeam = (one: OfTeam) => one.team === team;
  return { ...stops, teams: stops.teams.filter(isOfTeam), refused: stops.refused.filter(isOfTeam) };
}

function describeStops({ all, teams }: Omit<Stops, 'refused'>, only?: string): string {
  const stops = [...(all === null ? [] : [{ ...all, team: 'all teams' }]), ...teams];
  if (stops.length === 0)
    return only === undefined ? 'Writes are not stopped.\n' : `Writes of the team ${only} are not stopped.\n`;
  return renderRows(stops, [['stopped', 'team'], ['since', 'at'], 'by', 'reason']);
}

function describeSettled({ settled, outcome }: AnswerOf<typeof settleWrite>): string {
  const { id, team, day, amount, currency } = settled;
  if (amount === null) return `${id} is settled: its rule has no budget, so nothing was charged\n`;
  const shown = [amount, ...(currency ? [currency] : [])].join(' ');
  return outcome === 'happened'
    ? `${id} stays charged: ${shown} of the team ${team} on ${day}\n`
    : `${id} is returned: ${shown} to the team ${team} on ${day}\n`;
}
