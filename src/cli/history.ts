/** `dsp-gateway history`: what was known of an advertiser is erased; days that the platform no longer has are accepted as empty. */
import { acceptEmpty, eraseHistory } from '../api/operations/history.js';
import { call, type Given, steps } from './call-command.js';
import { group, show } from './define.js';
import { confirm } from './read-secret.js';
import { counted } from './span.js';

export const addHistoryCommands = group(
  'history',
  'What reports said at past moments.',
  call({
    name: 'erase',
    operation: eraseHistory,
    description:
      'Erase what was known of an advertiser, for good. Copies that were made of the store still have it.',
    examples: ['history erase --advertiser 1 --yes'],
    flags: {
      advertiserId: { flag: '--advertiser <id>', about: 'whose reports, and those whose rows name it' },
    },
    confirm: ({ advertiserId }) =>
      `What is known of advertiser ${advertiserId} at past moments will be gone for good.`,
    render: ({ erased, days, complete }) =>
      complete
        ? `erased: ${erased}, ${counted(days, 'day')} of reports\n`
        : `erased: ${erased}; the store did not answer, so the rows are removed within hours, and shown to nobody until then\n`,
  }),
  steps({
    name: 'accept-empty',
    operation: acceptEmpty,
    description:
      'Accept days as empty that the platform answers without rows and that are served from history until now. It first says how many days that is.',
    examples: [
      'history accept-empty --advertiser 7 --before 2026-01-01 --dry-run',
      'history accept-empty --advertiser 7 --before 2026-01-01 --yes',
    ],
    flags: {
      advertiserId: { flag: '--advertiser <id>', about: 'whose reports' },
      endpoint: { flag: '--endpoint <path>', about: 'of one report alone, e.g. campaigns/get' },
      before: { flag: '--before <day>' },
      dryRun: { about: 'say how many days it is about, and change nothing' },
    },
    own: (added) => added.option('--yes', 'do not ask'),
    async run({ values, send, terminal, options }: Given<typeof acceptEmpty, { readonly yes?: boolean }>) {
      const preview = await send({ ...values, dryRun: true });
      const told = `${preview.accepted}: ${counted(preview.days, 'day')} of reports given from history`;
      if (values.dryRun) return show(terminal, options, preview, () => `would accept as empty: ${told}\n`);
      await confirm(terminal, `${told} will be empty as soon as they are asked for again.`, options.yes);
      show(terminal, options, await send(values), () => `accepted as empty: ${told}\n`);
    },
  }),
);
