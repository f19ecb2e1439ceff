/** `dsp-gateway token`: the platform's token, and the steps of its rotation. */
import type { Command } from 'commander';
import type { AnswerTo } from '../api/operations/table.js';
import type { AdminOptions } from './admin-client.js';
import { CommandError } from './command-error.js';
import { act, adminCommand, refuseSecret, show } from './define.js';
import { EXIT } from './exit-codes.js';
import { readSecret } from './read-secret.js';
import { until } from './span.js';
import { renderTable } from './table.js';
import type { Terminal } from './terminal.js';

interface TokenOptions extends AdminOptions {
  readonly fromFile?: string;
  readonly expires?: string;
  readonly force?: boolean;
  readonly mint?: boolean;
}

/** Steps without a body of their own. */
const STEPS = [
  ['mint', 'Ask the platform for a token (way 2) and stage it.'],
  ['verify', 'Prove the pending token by a call to the platform.'],
  ['rollback', 'Go back to the previous token.'],
  ['discard', 'Forget the pending token.'],
] as const;

export function addTokenCommands(program: Command, terminal: Terminal): void {
  const token = program.command('token').description("The platform's token: show it, rotate it.");
  adminCommand(token, {
    name: 'show',
    description: 'Show the tokens and when they expire; never their text.',
    examples: ['token show', 'token show --json | jq -r .active.expiresAt'],
  }).action(
    act<AdminOptions>(terminal, async (admin, options) =>
      showSlots(terminal, options, await admin.ask('GET /admin/v1/token')),
    ),
  );
  addStage(token, terminal);
  addRotate(token, terminal);
  addActivate(token, terminal);
  for (const [name, description] of STEPS) {
    adminCommand(token, { name, description, examples: [`token ${name}`] }).action(
      act<AdminOptions>(terminal, async (admin, options) =>
        showSlots(terminal, options, await admin.ask(`POST /admin/v1/token/${name}`)),
      ),
    );
  }
  adminCommand(token, {
    name: 'reseal',
    description: 'Seal everything anew under the first master key, so that the others can be dropped.',
    examples: ['token reseal'],
  }).action(
    act<AdminOptions>(terminal, async (admin, options) =>
      show(
        terminal,
        options,
        await admin.ask('POST /admin/v1/token/reseal'),
        ({ masterKey, records }) => `sealed under master key ${masterKey}: ${records.join(', ')}\n`,
      ),
    ),
  );
}

/** A token in the place of an argument is refused, and the message does not repeat it. */
function takesToken(command: Command): Command {
  return command
    .allowExcessArguments()
    .option('--from-file <path>', 'file that holds the token; - is standard input')
    .option('--expires <date>', 'when it expires, as an ISO date; without it one year from now is assumed')
    .hook('preAction', ({ args }) => {
      if (args.length > 0) refuseSecret();
    });
}

function addStage(token: Command, terminal: Terminal): void {
  takesToken(
    adminCommand(token, {
      name: 'stage',
      description:
        'Put a token beside the active one. It is read from a file, from standard input, or asked for.',
      examples: ['token stage --expires 2027-11-01', 'token stage --from-file /run/secrets/new-token'],
    }),
  ).action(
    act<TokenOptions>(terminal, async (admin, options) => {
      const body = await tokenBody(terminal, options);
      showSlots(terminal, options, await admin.ask('POST /admin/v1/token/stage', { body }));
    }),
  );
}

function addRotate(token: Command, terminal: Terminal): void {
  takesToken(
    adminCommand(token, {
      name: 'rotate',
      description:
        'Stage a token (or mint one), verify it and activate it; the active one stays when that fails.',
      examples: [
        'token rotate --expires 2027-11-01',
        'vault read -field=token secret/dsp | dsp-gateway token rotate',
        'token rotate --mint',
      ],
    }),
  )
    .option('--mint', 'ask the platform for a token (way 2) instead of reading one')
    .option('--force', 'activate it although nothing proved it')
    .action(
      act<TokenOptions>(terminal, async (admin, options) => {
        const { mint, fromFile, expires, force } = options;
        if (mint && (fromFile !== undefined || expires !== undefined))
          throw new CommandError('--mint goes without --from-file and --expires', EXIT.usage);
        const body = {
          ...(mint ? {} : await tokenBody(terminal, options)),
          ...(force ? { force } : {}),
        };
        showSlots(terminal, options, await admin.ask('POST /admin/v1/token/rotate', { body }));
      }),
    );
}

function addActivate(token: Command, terminal: Terminal): void {
  adminCommand(token, {
    name: 'activate',
    description: 'Make the pending token the active one; the active one becomes the previous.',
    examples: ['token activate', 'token activate --force'],
  })
    .option('--force', 'although nothing proved it')
    .action(
      act<TokenOptions>(terminal, async (admin, options) => {
        const body = options.force ? { force: true } : {};
        showSlots(terminal, options, await admin.ask('POST /admin/v1/token/activate', { body }));
      }),
    );
}

async function tokenBody(terminal: Terminal, { fromFile, expires }: TokenOptions) {
  const token = await readSecret(terminal, fromFile, 'Platform token');
  return { token, ...(expires === undefined ? {} : { expiresAt: expires }) };
}

function showSlots(terminal: Terminal, options: AdminOptions, slots: AnswerTo<'GET /admin/v1/token'>): void {
  show(terminal, options, slots, (all) => describeSlots(all, terminal.nowMs()));
}

function describeSlots(slots: AnswerTo<'GET /admin/v1/token'>, nowMs: number): string {
  const held = (['active', 'pending', 'previous'] as const).flatMap((slot) => {
    const token = slots[slot];
    return token === null ? [] : [{ slot, ...token }];
  });
  if (held.length === 0) return 'There is no token; give one by: dsp-gateway token rotate\n';
  return renderTable(
    ['slot', 'token', 'fingerprint', 'source', 'made', 'verified', 'expires', 'expires on'],
    held.map(({ slot, id, fingerprint, source, createdAt, verifiedAt, expiresAt, expiryKnown }) => [
      slot,
      id,
      fingerprint,
      source,
      until(createdAt, nowMs),
      verifiedAt === null ? 'no' : until(verifiedAt, nowMs),
      until(expiresAt, nowMs),
      `${expiresAt.slice(0, 10)}${expiryKnown === false ? ' (assumed)' : ''}`,
    ]),
  );
}
