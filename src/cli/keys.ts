/** `dsp-gateway keys`. */
import {
  issueKey,
  listAllKeys,
  listKeys,
  revokeKey,
  revokeKeysOfPerson,
  rollKey,
} from '../api/operations/keys.js';
import type { AnswerOf } from '../api/operations/operation.js';
import { getStatus } from '../api/operations/overview.js';
import type { Environment } from '../config/rules.js';
import { momentIn } from '../lib/words.js';
import { call, type Given, steps, type Values } from './call-command.js';
import type { Admin, ClientOptions } from './client.js';
import { CommandError, EXIT } from './command-error.js';
import { group, rendered, show } from './define.js';
import { readId, readLength } from './flags.js';
import { confirm } from './read-secret.js';
import { counted, until } from './span.js';
import { renderFields, renderRows } from './table.js';
import type { Terminal } from './terminal.js';

type ShownKey = AnswerOf<typeof listAllKeys>['keys'][number];
type IssuedKey = AnswerOf<typeof issueKey>;

/** As in the dialog of the console. */
const USUAL_OVERLAP_S = 86_400;

const OF_KEY = { id: ['<key>', 'key id, key_…', readId] } as const;

export const addKeysCommands = group(
  'keys',
  'API keys of teams.',
  steps({
    name: 'list',
    operation: listKeys,
    description: 'List the keys of one or all teams.',
    examples: ['keys list growth', 'keys list'],
    args: { id: ['[team]', 'team id; default: all teams', readId] },
    async run({ values, admin, send, terminal, options }) {
      const { id } = values;
      const { keys } = await (id === undefined ? admin.ask(listAllKeys) : send(values));
      show(terminal, options, keys, (all) => describeKeys(all, terminal.nowMs(), id as string | undefined));
    },
  }),
  steps({
    name: 'issue',
    operation: issueKey,
    description: 'Issue a key. It is shown once.',
    examples: [
      'keys issue growth --label dashboards',
      'keys issue growth --expires 2027-11-01 --json | jq -r .key',
    ],
    args: { id: ['<team>', 'team id', readId] },
    flags: {
      label: { about: 'purpose' },
      expiresAt: { flag: '--expires <date>', about: 'ISO date; default: never' },
    },
    async run({ values, send, admin, terminal, options }) {
      const dataUrl = await dataUrlOf(admin);
      await showOnce(terminal, options, {
        make: () => send(values),
        render: (issued) =>
          describeIssued(issued, terminal) + firstCall(issued, dataUrl, options, terminal.env),
        lost: ({ id }) => revokeUnseen(admin, id),
      });
    },
  }),
  steps({
    name: 'roll',
    operation: rollKey,
    description:
      'Replace the secret of a key. The old secret stays valid for a day, or for --overlap. If it was lost or leaked, end it at once with --overlap 0s, after confirmation.',
    examples: ['keys roll key_RMO2iDI8rom4 --overlap 7d', 'keys roll key_RMO2iDI8rom4 --overlap 0s --yes'],
    own: (added) => added.option('--yes', 'skip confirmation'),
    args: OF_KEY,
    flags: {
      overlapSeconds: {
        flag: '--overlap <length>',
        about: 'validity of the old secret, e.g. 30min, 24h, 7d; default: 24h',
        read: readLength,
      },
    },
    async run({
      values: given,
      send,
      admin,
      terminal,
      options,
    }: Given<typeof rollKey, { readonly yes?: boolean }>) {
      const values: Values = { overlapSeconds: USUAL_OVERLAP_S, ...given };
      if (Number(values.overlapSeconds) === 0)
        await confirm(
          terminal,
          `The old secret of ${values.id} ends at once, and calls with it are refused: right if it was lost or leaked, else leave out --overlap, and it stays valid for a day.`,
          options.yes,
        );
      const dataUrl = await dataUrlOf(admin);
      await showOnce(terminal, options, {
        make: () => send(values),
        render: (rolled) =>
          describeIssued(rolled, terminal) +
          describeOld(values, terminal) +
          firstCall(rolled, dataUrl, options, terminal.env),
        lost: async ({ id }) =>
          `the new secret of ${id} was not shown; the old one is valid for ${values.overlapSeconds} s from now; roll it again: dsp-gateway keys roll ${id}`,
      });
    },
  }),
  call({
    name: 'revoke',
    operation: revokeKey,
    description: 'Revoke a key permanently, on all replicas within a second.',
    examples: ['keys revoke key_RMO2iDI8rom4 --yes'],
    args: OF_KEY,
    confirm: ({ id }) => `The key ${id} will be revoked permanently, and calls with it are refused.`,
    json: (_answer, { values }) => ({ revoked: values.id }),
    render: (_answer, { values }) => `revoked: ${values.id}\n`,
  }),
  call({
    name: 'revoke-all',
    operation: revokeKeysOfPerson,
    description: 'Revoke all keys that a person with a company account made.',
    examples: ['keys revoke-all person_3f0c2a9b7d1e4f5a6b7c8d9e --yes'],
    confirm: ({ id }) =>
      `All keys that ${id} made will be revoked permanently, and calls with them are refused.`,
    args: { id: ['<person>', 'id of the person, the maker in keys list --json', readId] },
    render: ({ revoked }) => `revoked: ${counted(revoked, 'key')}\n`,
  }),
);

/** @returns null: not known; a key is shown also without it */
const dataUrlOf = (admin: Admin): Promise<string | null> =>
  admin.ask(getStatus).then(
    (status) => status.dataUrl,
    () => null,
  );

/** Revokes a key that could not be shown. @returns the outcome */
async function revokeUnseen(admin: Admin, id: string): Promise<string> {
  const unseen = `the key ${id} was not shown;`;
  try {
    await admin.ask(revokeKey, { id });
    return `${unseen} it was revoked`;
  } catch (error) {
    return `${unseen} it could not be revoked and is valid (${(error as Error).message}); revoke it: dsp-gateway keys revoke ${id}`;
  }
}

function describeKeys(keys: readonly ShownKey[], nowMs: number, team = '<team>'): string {
  if (keys.length === 0)
    return `There are no keys yet; issue one: dsp-gateway keys issue ${team} --label <text>\n`;
  return renderRows(keys, [
    ['key', 'id'],
    ['team', 'teamId'],
    'label',
    ...(keys.some(({ maker }) => maker !== undefined) ? [MADE_BY] : []),
    ['begins', 'prefix'],
    ['state', (key) => stateOf(key, nowMs)],
    ['expires', ({ expiresAt }) => until(expiresAt, nowMs)],
    ['last used', (key) => lastUse(key, nowMs)],
    ['old secret', (key) => oldSecret(key, nowMs)],
  ]);
}

const MADE_BY: readonly [string, (key: ShownKey) => string | null] = [
  'made by',
  ({ maker = null, makerName = null }) => makerName ?? maker,
];

/** It is not known which of two valid secrets was used. */
const lastUse = (key: ShownKey, nowMs: number): string =>
  key.lastUsedAt === null
    ? 'never'
    : `${until(key.lastUsedAt, nowMs)}${oldSecret(key, nowMs) === null ? '' : ', of either secret'}`;

function oldSecret({ revokedAt, previous }: ShownKey, nowMs: number): string | null {
  if (revokedAt !== null || previous === null || Date.parse(previous.validUntil) <= nowMs) return null;
  return `${previous.prefix}…, ends ${until(previous.validUntil, nowMs)}`;
}

/** Why a valid key is refused. */
const REFUSALS: Readonly<Record<NonNullable<ShownKey['refused']>, string>> = {
  'long-ago': 'refused: its maker must sign in again',
  'not-allowed': 'refused: its maker may have no keys',
  'team-disabled': 'refused: team disabled',
};

function stateOf({ revokedAt, expiresAt, refused }: ShownKey, nowMs: number): string {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && Date.parse(expiresAt) <= nowMs) return 'expired';
  // A newer release may have another reason.
  return refused ? (REFUSALS[refused] ?? 'refused') : 'valid';
}

/** A key that ends so soon is warned of, as by `doctor`. */
const SOON_MS = 14 * 86_400_000;

function describeIssued({ id, key, teamId, expiresAt }: IssuedKey, { nowMs }: Terminal): string {
  const isSoon = expiresAt !== null && Date.parse(expiresAt) - nowMs() <= SOON_MS;
  const warning = isSoon
    ? `Warning: the key ends ${until(expiresAt, nowMs())}, and rolling it does not change that; for a later end run dsp-gateway keys issue ${teamId} --expires <date>.\n`
    : '';
  return `${renderFields([
    ['id', id],
    ['team', teamId],
    ['expires', expiresAt === null ? 'never' : `${expiresAt} (${until(expiresAt, nowMs())})`],
    ['key', key],
  ])}The key is shown only once; keep it secret.\n${warning}`;
}

/** When the secret ends that was replaced. */
function describeOld({ overlapSeconds }: Values, { nowMs }: Terminal): string {
  const seconds = Number(overlapSeconds);
  if (seconds === 0) return 'The old secret has ended.\n';
  return `The old secret ends ${momentIn(nowMs() + seconds * 1000, nowMs())}; the key's own end is unchanged.\n`;
}

/** Addresses that a server listens at, but that nobody calls. */
const ANY_HOST = /^(?:0\.0\.0\.0|\[::\])$/;

/**
 * A first call to paste, at the address where the data plane listens, or at this machine's as its settings have it. The host
 * of the admin plane stands for any host.
 */
function firstCall(
  { key }: IssuedKey,
  dataUrl: string | null,
  { url }: ClientOptions,
  env: Environment,
): string {
  const admin = url ?? env.GATEWAY_ADMIN_URL;
  const port = env.PORT && env.PORT !== '0' ? env.PORT : '8080';
  const address = new URL(dataUrl ?? `http://0.0.0.0:${port}`);
  if (ANY_HOST.test(address.hostname)) address.hostname = admin ? new URL(admin).hostname : '127.0.0.1';
  return `
A first call, which shows what the key may do (replace the address if apps use another one):

  curl -s -H 'x-api-key: ${key}' ${address.origin}/gateway/v1/me
`;
}

interface Once<T> {
  readonly make: () => Promise<T>;
  readonly render: (made: T) => string;
  /** Called if it could not be shown. @returns the outcome and what to do; never rejects */
  readonly lost: (made: T) => Promise<string>;
}

/** @throws CommandError if standard output cannot be written, before `make` where possible */
async function showOnce<T>(
  terminal: Terminal,
  options: ClientOptions,
  { make, render, lost }: Once<T>,
): Promise<void> {
  await terminal.ready().catch((error: unknown) => {
    throw unwritable(error, 'nothing was done');
  });
  const made = await make();
  try {
    await terminal.deliver(rendered(options, made, render));
  } catch (error) {
    throw unwritable(error, await lost(made));
  }
}

function unwritable(error: unknown, outcome: string): CommandError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new CommandError(`standard output cannot be written (${code ?? message}): ${outcome}`, EXIT.output);
}
