/** `dsp-gateway token`: the platform token and its rotation. */
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
import { TOKEN_SOURCES } from '../lib/words.js';
import { call, type Given, type Values } from './call-command.js';
import { CommandError, EXIT } from './command-error.js';
import { group, refuseSecret } from './define.js';
import { readSecret } from './read-secret.js';
import { until } from './span.js';
import { renderRows } from './table.js';

type TokenOptions = Readonly<{ fromFile?: string; mint?: boolean }>;

const FLAGS = {
  token: null,
  expiresAt: {
    flag: '--expires <date>',
    about: 'expiry, an ISO date; default: one year from now',
  },
};

type Step = typeof mintToken | typeof verifyToken | typeof discardToken;

const step = (name: string, operation: Step, description: string) =>
  call({ name, operation, description, examples: [`token ${name}`], render: describeTokens });

export const addTokenCommands = group(
  'token',
  'Show and rotate the platform token.',
  call({
    name: 'show',
    operation: getTokens,
    description: 'Show the tokens and their expiry, never their values.',
    examples: ['token show', 'token show --json | jq -r .active.expiresAt'],
    render: describeTokens,
  }),
  call({
    name: 'stage',
    operation: stageToken,
    description: 'Stage a token as pending, from a file, standard input or a prompt.',
    examples: ['token stage --expires 2027-11-01', 'token stage --from-file /run/secrets/new-token'],
    flags: FLAGS,
    own: takesToken,
    prepare: withToken,
    render: describeTokens,
  }),
  call({
    name: 'rotate',
    operation: rotateToken,
    description: 'Stage or mint a token, verify and activate it; on failure the active token stays.',
    examples: [
      'token rotate --expires 2027-11-01',
      'vault read -field=token secret/dsp | dsp-gateway token rotate',
      'token rotate --mint',
    ],
    flags: FLAGS,
    own: (added) => takesToken(added).option('--mint', 'request a token from the platform (way 2)'),
    prepare(given: Given<typeof rotateToken, TokenOptions>) {
      const { options, values } = given;
      if (!options.mint) return withToken(given);
      if (options.fromFile === undefined && values.expiresAt === undefined) return values;
      throw new CommandError('--mint excludes --from-file and --expires', EXIT.usage);
    },
    render: describeTokens,
  }),
  call({
    name: 'activate',
    operation: activateToken,
    description: 'Activate the pending token; the active one becomes the previous.',
    examples: ['token activate', 'token activate --force'],
    render: describeTokens,
  }),
  step('mint', mintToken, 'Request a token from the platform (way 2) and stage it.'),
  step('verify', verifyToken, 'Verify the pending token with a platform call.'),
  call({
    name: 'rollback',
    operation: rollbackToken,
    description:
      'Verify and reactivate the previous token; one that the platform refuses, or that cannot be verified, only with --force.',
    examples: ['token rollback --yes', 'token rollback --force --yes'],
    confirm: () =>
      'Calls will be made with the previous token from now on, and the active one becomes the previous.',
    render: (answer, given) =>
      describeTokens(answer, given) + (answer.warning === undefined ? '' : `\nWarning: ${answer.warning}\n`),
  }),
  step('discard', discardToken, 'Delete the pending token.'),
  call({
    name: 'reseal',
    operation: resealToken,
    description: 'Re-encrypt all secrets with the first master key; the others can then be removed.',
    examples: ['token reseal'],
    render: ({ masterKey, records }) => `encrypted with master key ${masterKey}: ${records.join(', ')}\n`,
  }),
);

/** A token as an argument is refused, without repeating it. */
function takesToken(command: Command): Command {
  return command
    .allowExcessArguments()
    .option('--from-file <path>', 'file with the token; - is standard input')
    .hook('preAction', ({ args }) => {
      if (args.length > 0) refuseSecret();
    });
}

async function withToken({ terminal, options, values }: Given<never, TokenOptions>): Promise<Values> {
  return { token: await readSecret(terminal, options.fromFile, 'Platform token'), ...values };
}

function describeTokens(tokens: AnswerOf<typeof getTokens>, { terminal }: Pick<Given, 'terminal'>): string {
  const held = (['active', 'pending', 'previous'] as const).flatMap((slot) => {
    const token = tokens[slot];
    return token === null ? [] : [{ slot, ...token }];
  });
  if (held.length === 0) return 'There is no token; add one: dsp-gateway token rotate\n';
  const nowMs = terminal.nowMs();
  return renderRows(held, [
    'slot',
    ['token', 'id'],
    'fingerprint',
    ['source', ({ source }) => TOKEN_SOURCES[source] ?? source],
    ['created', ({ createdAt }) => until(createdAt, nowMs)],
    [
      'verified',
      ({ verifiedAt, refusedAt }) =>
        refusedAt !== null
          ? `refused ${until(refusedAt, nowMs)}`
          : verifiedAt === null
            ? 'no'
            : until(verifiedAt, nowMs),
    ],
    ['expires', ({ expiresAt }) => until(expiresAt, nowMs)],
    [
      'expires on',
      ({ expiresAt, expiryKnown }) => `${expiresAt.slice(0, 10)}${expiryKnown === false ? ' (assumed)' : ''}`,
    ],
  ]);
}
