/** `dsp-gateway history`: erase the history of an advertiser; accept days as empty that the platform no longer has. */
import { acceptEmpty, eraseHistory } from '../api/operations/history.js';
import { call, type Given, steps } from './call-command.js';
import { group, show } from './define.js';
import { confirm } from './read-secret.js';
import { counted } from './span.js';

export const addHistoryCommands = group(
  'history',
  'Recorded past states of reports.',
  call({
    name: 'erase',
    operation: eraseHistory,
    description: 'Erase the history of an advertiser permanently. Backups still contain it.',
    examples: ['history erase --advertiser 1 --yes'],
    flags: {
      advertiserId: { flag: '--advertiser <id>', about: 'the advertiser, in queries and in rows' },
    },
    confirm: ({ advertiserId }) => `The history of advertiser ${advertiserId} will be deleted permanently.`,
    render: ({ erased, days, complete }) =>
      complete
        ? `erased: ${erased}, ${counted(days, 'day')} of reports\n`
        : `erased: ${erased}; the store is unavailable: rows are hidden now and will be deleted within hours\n`,
  }),
  steps({
    name: 'accept-empty',
    operation: acceptEmpty,
    description:
      'Treat days as empty if the platform returns no rows for them, instead of serving them from history. Shows the number of days first.',
    examples: [
      'history accept-empty --advertiser 7 --before 2026-01-01 --dry-run',
      'history accept-empty --advertiser 7 --before 2026-01-01 --yes',
    ],
    flags: {
      advertiserId: { flag: '--advertiser <id>', about: 'the advertiser' },
      endpoint: { flag: '--endpoint <path>', about: 'only this endpoint, e.g. campaigns/get' },
      before: { flag: '--before <day>' },
      dryRun: { about: 'show the number of days, change nothing' },
    },
    own: (added) => added.option('--yes', 'skip confirmation'),
    async run({ values, send, terminal, options }: Given<typeof acceptEmpty, { readonly yes?: boolean }>) {
      const preview = await send({ ...values, dryRun: true });
      const scope = `${preview.accepted}: ${counted(preview.days, 'day')} of reports served from history`;
      if (values.dryRun) return show(terminal, options, preview, () => `would accept as empty: ${scope}\n`);
      await confirm(terminal, `${scope} will be empty from the next request on.`, options.yes);
      show(terminal, options, await send(values), () => `accepted as empty: ${scope}\n`);
    },
  }),
);
