/** `dsp-gateway history`: what was known of an advertiser is erased; days that the platform has no more are accepted as empty. */
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
          const body = { advertiserId: advertiser };
          const answer = await admin.ask('POST /admin/v1/history/erase', { body });
          show(terminal, options, answer, ({ erased, days, complete }) =>
            complete
              ? `erased: ${erased}, ${counted(days, 'day')} of reports\n`
              : `erased: ${erased}; the store did not answer, so the rows are removed within hours, and shown to nobody until then\n`,
          );
        },
      ),
    );
  addAcceptEmpty(history, terminal);
}

interface AcceptOptions extends AdminOptions {
  readonly advertiser: number;
  readonly before: string;
  readonly endpoint?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

function addAcceptEmpty(history: Command, terminal: Terminal): void {
  adminCommand(history, {
    name: 'accept-empty',
    description:
      'Accept that days are empty that the platform answers without rows, and that are given from history until now. It says first how many that are.',
    examples: [
      'history accept-empty --advertiser 7 --before 2026-01-01 --dry-run',
      'history accept-empty --advertiser 7 --before 2026-01-01 --yes',
    ],
  })
    .requiredOption('--advertiser <id>', 'whose reports', readNumber)
    .requiredOption('--before <day>', 'days before this one, YYYY-MM-DD')
    .option('--endpoint <path>', 'of one report alone, e.g. campaigns/get')
    .option('--dry-run', 'say how many days it is about, and change nothing')
    .option('--yes', 'do not ask')
    .action(
      act<AcceptOptions>(terminal, async (admin, options) => {
        const { advertiser: advertiserId, before, endpoint, dryRun = false, yes } = options;
        const scope = { advertiserId, before, ...(endpoint === undefined ? {} : { endpoint }) };
        const ask = (more: { readonly dryRun?: true }) =>
          admin.ask('POST /admin/v1/history/accept-empty', { body: { ...scope, ...more } });
        const preview = await ask({ dryRun: true });
        const told = `${preview.accepted}: ${counted(preview.days, 'day')} of reports given from history`;
        if (dryRun) return show(terminal, options, preview, () => `would accept as empty: ${told}\n`);
        await confirm(terminal, `${told} will be empty as soon as they are asked for again.`, yes);
        show(terminal, options, await ask({}), () => `accepted as empty: ${told}\n`);
      }),
    );
}
