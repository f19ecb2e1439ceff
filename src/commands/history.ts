/** `dsp-gateway history`: what was known of an advertiser is erased. */
import type { Command } from 'commander';
import type { AdminOptions } from './admin-client.js';
import { act, adminCommand, show } from './define.js';
import { confirm } from './read-secret.js';
import { counted } from './span.js';
import { readNumber } from './teams.js';
import type { Terminal } from './terminal.js';

export function addHistoryCommands(program: Command, terminal: Terminal): void {
  const history = program.command('history').description('What reports said at past moments.');
  adminCommand(history, {
    name: 'erase',
    description:
      'Erase what was known of an advertiser, for good. Copies that were made of the store still have it.',
    examples: ['history erase --advertiser 1 --yes'],
  })
    .requiredOption('--advertiser <id>', 'whose reports, and those whose rows name it', readNumber)
    .option('--yes', 'do not ask')
    .action(
      act<AdminOptions & { readonly advertiser: number; readonly yes?: boolean }>(
        terminal,
        async (admin, options) => {
          const { advertiser } = options;
          await confirm(
            terminal,
            `What is known of advertiser ${advertiser} at past moments will be gone for good.`,
            options.yes,
          );
          const answer = await admin.ask('erased', 'POST', 'history/erase', { advertiserId: advertiser });
          show(terminal, options, answer, ({ erased, days, complete }) =>
            complete
              ? `erased: ${erased}, ${counted(days, 'day')} of reports\n`
              : `erased: ${erased}; the store did not answer, so the rows are removed within hours, and shown to nobody until then\n`,
          );
        },
      ),
    );
}
