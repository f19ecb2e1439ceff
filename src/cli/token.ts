/** `dsp-gateway token`: the platform's token, and the steps of its rotation. */
import type { Command } from 'commander';
import type { AnswerOf } from '../api/operations/operation.js';
import {
  activateToken,
  discardToken,
  getTokens,
  mintToken,
  resealToken,
  rollbackToken,
  rotateToken,
  stageToken,
  verifyToken,
} from '../api/operations/token.js';
import { call, type Given, type Values } from './call-command.js';
import { CommandError, EXIT } from './command-error.js';
import { group, refuseSecret } from './define.js';
import { readSecret } from './read-secret.js';
import { until } from './span.js';
import { renderRows } from './table.js';

type Tokens = AnswerOf<typeof getTokens>;

interface TokenOptions {
  readonly fromFile?: string;
  readonly mint?: boolean;
}

const FLAGS = {
  token: null,
  expiresAt: {
    flag: '--expires <date>',
    about: 'when it expires, as an ISO date; without it one year from now is assumed',
  },
};

type Step = typeof mintToken | typeof verifyToken | typeof rollbackToken | typeof discardToken;

/** A step of the rotation that takes nothing. */
const step = (name: string, operation: Step, description: string) =>
  call({ name, operation, description, examples: [`token ${name}`], render: describeTokens });

export const addTokenCommands = group(
  'token',
  "The platform's token: show it, rotate it.",
  call({
    name: 'show',
    operation: getTokens,
    description: 'Show the tokens and when they expire; never their text.',
    examples: ['token show', 'token show --json | jq -r .active.expiresAt'],
    render: describeTokens,
  }),
  call({
    name: 'stage',
    operation: stageToken,
    description:
      'Put a token beside the active one. It is read from a file, from standard input, or asked for.',
    examples: ['token stage --expires 2027-11-01', 'token stage --from-file /run/secrets/new-token'],
    flags: FLAGS,
    own: takesToken,
    prepare: withToken,
    render: describeTokens,
  }),
  call({
    name: 'rotate',
    operation: rotateToken,
    description:
      'Stage a token (or mint one), verify it and activate it; the active one stays when that fails.',
    examples: [
      'token rotate --expires 2027-11-01',
      'vault read -field=token secret/dsp | dsp-gateway token rotate',
      'token rotate --mint',
    ],
    flags: FLAGS,
    own: (added) =>
      takesToken(added).option('--mint', 'ask the platform for a token (way 2) instead of reading one'),
    prepare(given: Given<typeof rotateToken, TokenOptions>) {
      const { options, values } = given;
      if (!options.mint) return withToken(given);
      if (options.fromFile === undefined && values.expiresAt === undefined) return values;
      throw new CommandError('--mint goes without --from-file and --expires', EXIT.usage);
    },
    render: describeTokens,
  }),
  call({
    name: 'activate',
    operation: activateToken,
    description: 'Make the pending token the active one; the active one becomes the previous.',
    examples: ['token activate', 'token activate --force'],
    render: describeTokens,
  }),
  step('mint', mintToken, 'Ask the platform for a token (way 2) and stage it.'),
  step('verify', verifyToken, 'Prove the pending token by a call to the platform.'),
  step('rollback', rollbackToken, 'Go back to the previous token.'),
  step('discard', discardToken, 'Forget the pending token.'),
  call({
    name: 'reseal',
    operation: resealToken,
    description: 'Seal everything anew under the first master key, so that the others can be dropped.',
    examples: ['token reseal'],
    render: ({ masterKey, records }) => `sealed under master key ${masterKey}: ${records.join(', ')}\n`,
  }),
);

/** A token in the place of an argument is refused, and the message does not repeat it. */
function takesToken(command: Command): Command {
  return command
    .allowExcessArguments()
    .option('--from-file <path>', 'file that holds the token; - is standard input')
    .hook('preAction', ({ args }) => {
      if (args.length > 0) refuseSecret();
    });
}

async function withToken({ terminal, options, values }: Given<never, TokenOptions>): Promise<Values> {
  return { token: await readSecret(terminal, options.fromFile, 'Platform token'), ...values };
}

function describeTokens(tokens: Tokens, { terminal }: Pick<Given, 'terminal'>): string {
  const held = (['active', 'pending', 'previous'] as const).flatMap((slot) => {
    const token = tokens[slot];
    return token === null ? [] : [{ slot, ...token }];
  });
  if (held.length === 0) return 'There is no token; give one by: dsp-gateway token rotate\n';
  const nowMs = terminal.nowMs();
  return renderRows(held, [
    'slot',
    ['token', 'id'],
    'fingerprint',
    'source',
    ['made', ({ createdAt }) => until(createdAt, nowMs)],
    ['verified', ({ verifiedAt }) => (verifiedAt === null ? 'no' : until(verifiedAt, nowMs))],
    ['expires', ({ expiresAt }) => until(expiresAt, nowMs)],
    [
      'expires on',
      ({ expiresAt, expiryKnown }) => `${expiresAt.slice(0, 10)}${expiryKnown === false ? ' (assumed)' : ''}`,
    ],
  ]);
}
