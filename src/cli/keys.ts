/** `dsp-gateway keys`: what a team calls with. */
import { type Command, InvalidArgumentError } from 'commander';
import type { AnswerTo } from '../api/operations/table.js';
import type { Environment } from '../config/rules.js';
import type { Admin, AdminOptions } from './admin-client.js';
import { CommandError } from './command-error.js';
import { act, adminCommand, rendered, show } from './define.js';
import { EXIT } from './exit-codes.js';
import { readSpan, until } from './span.js';
import { renderFields, renderTable } from './table.js';
import { readId } from './teams.js';
import type { Terminal } from './terminal.js';

type ShownKey = AnswerTo<'GET /admin/v1/keys'>['keys'][number];
type IssuedKey = AnswerTo<'POST /admin/v1/teams/:id/keys'>;

export function addKeysCommands(program: Command, terminal: Terminal): void {
  const keys = program.command('keys').description('Keys: what the apps of a team call with.');
  adminCommand(keys, {
    name: 'list',
    description: 'List the keys of a team, or of all teams.',
    examples: ['keys list growth', 'keys list'],
  })
    .argument('[team]', 'its id; all teams without it', readId)
    .action(
      act<AdminOptions>(terminal, async (admin, options, team) => {
        const all = team === undefined ? await keysOfAll(admin) : await keysOf(admin, team);
        show(terminal, options, all, (list) => listKeys(list, terminal.nowMs(), team));
      }),
    );
  adminCommand(keys, {
    name: 'issue',
    description: 'Issue a key. It is shown this once.',
    examples: [
      'keys issue growth --label dashboards',
      'keys issue growth --expires 2027-11-01 --json | jq -r .key',
    ],
  })
    .argument('<team>', 'its id', readId)
    .option('--label <text>', 'what it is for')
    .option('--expires <date>', 'ISO date; without it the key does not expire')
    .action(
      act<AdminOptions & { label?: string; expires?: string }>(terminal, async (admin, options, team) => {
        const { label, expires } = options;
        await showOnce(terminal, options, {
          make: () =>
            admin.ask('POST /admin/v1/teams/:id/keys', {
              id: team,
              body: {
                ...(label === undefined ? {} : { label }),
                ...(expires === undefined ? {} : { expiresAt: expires }),
              },
            }),
          render: (issued) => describeIssued(issued) + firstCall(issued, options, terminal.env),
          lost: ({ id }) => revokeUnseen(admin, id),
        });
      }),
    );
  addKeyChanges(keys, terminal);
}

function addKeyChanges(keys: Command, terminal: Terminal): void {
  adminCommand(keys, {
    name: 'roll',
    description: 'Give a key a new secret; its id stays, the old secret stays valid for a while.',
    examples: ['keys roll key_RMO2iDI8rom4 --overlap 24h'],
  })
    .argument('<key>', 'its id, key_…', readId)
    .option('--overlap <length>', 'how long the old one stays valid, e.g. 30min, 24h, 7d', readOverlap, 0)
    .action(
      act<AdminOptions & { overlap: number }>(terminal, async (admin, options, key) => {
        await showOnce(terminal, options, {
          make: () =>
            admin.ask('POST /admin/v1/keys/:id/roll', { id: key, body: { overlapSeconds: options.overlap } }),
          render: describeIssued,
          lost: async ({ id }) =>
            `nobody has seen the new secret of ${id}; the old one is valid for ${options.overlap} s from now; roll it again: dsp-gateway keys roll ${id}`,
        });
      }),
    );
  adminCommand(keys, {
    name: 'revoke',
    description: 'Revoke a key: refused everywhere within a second, for good.',
    examples: ['keys revoke key_RMO2iDI8rom4'],
  })
    .argument('<key>', 'its id, key_…', readId)
    .action(
      act<AdminOptions>(terminal, async (admin, options, key) => {
        await admin.ask('DELETE /admin/v1/keys/:id', { id: key });
        show(terminal, options, { revoked: key }, () => `revoked: ${key}\n`);
      }),
    );
}

/** A key that nobody has seen is of use to nobody. @returns what became of it */
async function revokeUnseen(admin: Admin, id: string): Promise<string> {
  const unseen = `nobody has seen the key ${id};`;
  try {
    await admin.ask('DELETE /admin/v1/keys/:id', { id });
    return `${unseen} it was revoked`;
  } catch (error) {
    return `${unseen} it is valid, for it could not be revoked (${(error as Error).message}); do so: dsp-gateway keys revoke ${id}`;
  }
}

function readOverlap(text: string): number {
  const seconds = readSpan(text);
  if (seconds === null) throw new InvalidArgumentError('It takes a form such as 90s, 30min, 24h or 7d.');
  return seconds;
}

async function keysOf(admin: Admin, team: string): Promise<readonly ShownKey[]> {
  return (await admin.ask('GET /admin/v1/teams/:id/keys', { id: team })).keys;
}

async function keysOfAll(admin: Admin): Promise<readonly ShownKey[]> {
  const { keys } = await admin.ask('GET /admin/v1/keys');
  return keys;
}

function listKeys(keys: readonly ShownKey[], nowMs: number, team = '<team>'): string {
  if (keys.length === 0)
    return `There are no keys yet; issue one: dsp-gateway keys issue ${team} --label <text>\n`;
  return renderTable(
    ['key', 'team', 'label', 'begins', 'state', 'expires', 'last used', 'old secret'],
    keys.map((key) => [
      key.id,
      key.teamId,
      key.label,
      key.prefix,
      stateOf(key, nowMs),
      until(key.expiresAt, nowMs),
      key.lastUsedAt ? until(key.lastUsedAt, nowMs) : 'never',
      key.revokedAt !== null || key.previous === null || Date.parse(key.previous.validUntil) <= nowMs
        ? null
        : `${key.previous.prefix}…, ends ${until(key.previous.validUntil, nowMs)}`,
    ]),
  );
}

function stateOf({ revokedAt, expiresAt }: ShownKey, nowMs: number): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= nowMs ? 'expired' : 'valid';
}

function describeIssued({ id, key, teamId, expiresAt }: IssuedKey): string {
  return `${renderFields([
    ['id', id],
    ['team', teamId],
    ['expires', expiresAt ?? 'never'],
    ['key', key],
  ])}The key is shown this once; keep it as a secret.\n`;
}

/**
 * The first call with a key, ready to paste. The admin API does not say where apps reach the data plane, which may stand behind a proxy: it is taken to be on the
 * machine of the admin plane, at its usual port.
 */
function firstCall({ key }: { readonly key: string }, { url }: AdminOptions, env: Environment): string {
  const admin = url ?? env.GATEWAY_ADMIN_URL;
  const host = admin ? new URL(admin).hostname : '127.0.0.1';
  const port = env.PORT && env.PORT !== '0' ? env.PORT : '8080';
  return `
A first call; it says what the key may do (put the address that apps use in the place of this one, if it is another):

  curl -s -H 'x-api-key: ${key}' http://${host}:${port}/gateway/v1/me
`;
}

/** What is shown this once, and must not be lost on the way. */
interface Once<T> {
  /** Makes what is shown. */
  readonly make: () => Promise<T>;
  readonly render: (made: T) => string;
  /** Called when it could not be shown. @returns what became of it, and what to do; never rejects */
  readonly lost: (made: T) => Promise<string>;
}

/** @throws CommandError when standard output cannot be written: before anything is made where that is seen in time */
async function showOnce<T>(
  terminal: Terminal,
  options: AdminOptions,
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
