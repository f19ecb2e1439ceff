/** `dsp-gateway status`: the gateway's health at a glance. */
import type { Command } from 'commander';
import type { AdminOptions } from './admin-client.js';
import type { Answers } from './answers.js';
import { CommandError } from './command-error.js';
import { act, adminCommand, show } from './define.js';
import { EXIT } from './exit-codes.js';
import { span } from './span.js';
import { type Cell, renderFields } from './table.js';
import type { Terminal } from './terminal.js';

export function addStatusCommand(program: Command, terminal: Terminal): void {
  adminCommand(program, {
    name: 'status',
    description: `Show the gateway's health; exit code ${EXIT.unavailable} when it is not ready.`,
    examples: ['status', 'status --json | jq .credential'],
  }).action(
    act<AdminOptions>(terminal, async (admin, options) => {
      const status = await admin.ask('status', 'GET', 'status');
      show(terminal, options, status, describeStatus);
      if (!status.ready) throw new CommandError('the gateway is not ready', EXIT.unavailable);
    }),
  );
}

/** Whatever the gateway says of itself, a line each: what is new there is shown without a change here. */
function describeStatus(status: Answers['status']): string {
  return renderFields(fieldsOf({ ...status }, ''));
}

function fieldsOf(node: Readonly<Record<string, unknown>>, path: string): (readonly [string, Cell])[] {
  return Object.entries(node).flatMap(([name, value]): (readonly [string, Cell])[] => {
    const place = path === '' ? name : `${path}.${name}`;
    if (typeof value === 'number' && place.endsWith('Seconds'))
      return [[place.replace(/Seconds$/, ''), span(Math.trunc(value))]];
    if (typeof value !== 'object' || value === null) return [[place, value as Cell]];
    if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
      return [[place, value.join(', ')]];
    return fieldsOf(value as Readonly<Record<string, unknown>>, place);
  });
}
