/** `dsp-gateway writes`: stop and resume them, and settle those of unknown outcome. */
import { type Command, Option } from 'commander';
import type { AnswerTo } from '../api/operations/table.js';
import type { AdminOptions } from './admin-client.js';
import { CommandError } from './command-error.js';
import { act, adminCommand, show } from './define.js';
import { EXIT } from './exit-codes.js';
import { renderTable } from './table.js';
import type { Terminal } from './terminal.js';

interface OrderOptions extends AdminOptions {
  readonly team?: string;
  readonly reason: string;
}

export function addWritesCommands(program: Command, terminal: Terminal): void {
  const writes = program
    .command('writes')
    .description('Stop and resume what is written to the platform, and settle writes of unknown outcome.');
  addOrder(writes, terminal, {
    name: 'stop',
    description:
      'Refuse writes of all teams, or of one, on every replica within a second. What is under way is not recalled; reports go on.',
    why: 'why; those whose writes are refused are shown it',
    examples: [
      "writes stop --reason 'budgets look wrong'",
      "writes stop --team growth --reason 'a loop creates campaigns'",
    ],
  });
  addOrder(writes, terminal, {
    name: 'resume',
    description: 'Lift a stop: that of all teams, or with --team that of one. Other stops stay in force.',
    why: 'why, for the audit',
    examples: ["writes resume --reason 'the loop is fixed'", "writes resume --team growth --reason 'fixed'"],
  });
  adminCommand(writes, {
    name: 'status',
    description: 'Say whose writes are stopped, since when, by whom and why.',
    examples: ['writes status', 'writes status --team growth'],
  })
    .option('--team <id>', 'only what stops writes of this team')
    .action(
      act<AdminOptions & { team?: string }>(terminal, async (admin, options) => {
        const stops = await admin.ask('GET /admin/v1/writes');
        const { team } = options;
        const teams = team === undefined ? stops.teams : stops.teams.filter((one) => one.team === team);
        show(terminal, options, { ...stops, teams }, (shown) => describeStops(shown, team));
      }),
    );
  addUnknown(writes, terminal);
}

interface Order {
  readonly name: 'stop' | 'resume';
  readonly description: string;
  /** Of --reason. */
  readonly why: string;
  readonly examples: readonly string[];
}

function addOrder(writes: Command, terminal: Terminal, { name, why, ...about }: Order): void {
  adminCommand(writes, { name, ...about })
    .option('--team <id>', 'of this team alone')
    .requiredOption('--reason <text>', why)
    .action(
      act<OrderOptions>(terminal, async (admin, options) => {
        const { team, reason } = options;
        const order = { ...(team === undefined ? {} : { team }), reason };
        const stops = await admin.ask(`POST /admin/v1/writes/${name}`, { body: order });
        show(terminal, options, stops, (shown) => describeStops(shown));
      }),
    );
}

function addUnknown(writes: Command, terminal: Terminal): void {
  adminCommand(writes, {
    name: 'list',
    description:
      'List guarded writes of which nobody knows whether they happened. Each stays charged to its day until it is settled.',
    examples: ['writes list --unknown', "writes list --unknown --json | jq -r '.writes[].id'"],
  })
    .addOption(
      new Option('--unknown', 'those of unknown outcome; there is no other list').makeOptionMandatory(),
    )
    .action(
      act<AdminOptions>(terminal, async (admin, options) => {
        const answer = await admin.ask('GET /admin/v1/writes/unknown');
        show(terminal, options, answer, describeUnknown);
      }),
    );
  adminCommand(writes, {
    name: 'settle',
    description:
      'Say what became of a write, after a look on the platform: if it happened it stays charged, if not its amount goes back to its day.',
    examples: ['writes settle 0c5f1d1e-7a1b-4f0e-9b57-1f2f6d1c2a33 not'],
  })
    .argument('<id>', 'as `writes list --unknown` shows it')
    .argument('<outcome>', 'happened, or not')
    .action(
      act<AdminOptions>(terminal, async (admin, options, id = '', outcome = '') => {
        if (outcome !== 'happened' && outcome !== 'not')
          throw new CommandError(`the outcome was ${outcome}; allowed is happened or not`, EXIT.usage);
        const answer = await admin.ask('POST /admin/v1/writes/settle', { body: { id, outcome } });
        show(terminal, options, answer, describeSettled);
      }),
    );
}

/** @param only the team that was asked about */
function describeStops({ all, teams }: AnswerTo<'GET /admin/v1/writes'>, only?: string): string {
  const stops = [
    ...(all === null ? [] : [{ team: 'all teams', ...all }]),
    ...teams.map((one) => ({ ...one, team: one.team })),
  ];
  if (stops.length === 0)
    return only === undefined
      ? 'Nobody has stopped writes.\n'
      : `Nobody has stopped writes of the team ${only}.\n`;
  return renderTable(
    ['stopped', 'since', 'by', 'reason'],
    stops.map(({ team, at, by, reason }) => [team, at, by, reason]),
  );
}

function describeUnknown({ writes }: AnswerTo<'GET /admin/v1/writes/unknown'>): string {
  if (writes.length === 0) return 'There is no write of unknown outcome.\n';
  const table = renderTable(
    ['id', 'at', 'team', 'route', 'day', 'amount', 'currency', 'why'],
    writes.map(({ id, at, team, route, day, amount, currency, why }) => [
      ...[id, at, team, route],
      ...[day, amount, currency, why],
    ]),
  );
  return `${table}Look on the platform whether it happened, then: dsp-gateway writes settle <id> happened|not\n`;
}

function describeSettled({ settled, outcome }: AnswerTo<'POST /admin/v1/writes/settle'>): string {
  const { id, team, day, amount, currency } = settled;
  if (amount === null) return `${id} is settled: its rule has no budget, so that nothing was charged\n`;
  const shown = [amount, ...(currency ? [currency] : [])].join(' ');
  return outcome === 'happened'
    ? `${id} stays charged: ${shown} of the team ${team} on ${day}\n`
    : `${id} is given back: ${shown} to the team ${team} on ${day}\n`;
}
