/** Team keys: issue, list, roll, revoke. The key itself is shown once, in the answer that made it. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import type { RegistryCommit } from '../../store/port.js';
import { commitChange } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { type Directory, newKeyId, TEAM_PREFIX } from '../../teams/auth/directory.js';
import { KEY_PREFIX, type KeyRecord } from '../../teams/auth/key-record.js';
import type { LastUse } from '../../teams/auth/last-use.js';
import { type Actor, auditLine } from '../../telemetry/audit.js';
import { issueKey, listAllKeys, listKeys, revokeKey, rollKey } from '../operations/keys.js';
import { readFutureDate } from './future-date.js';
import { serve } from './serve.js';
import { noTeam } from './teams.js';

interface RecordsOptions {
  readonly registry: Registry;
  readonly directory: Directory;
  readonly clock: Clock;
}

interface KeysOptions extends RecordsOptions {
  readonly lastUse: Pick<LastUse, 'read'>;
}

/** A team that is edited meanwhile is no reason to refuse its key. */
const MAX_TRIES = 5;

/** Each change is one commit, audited. */
export function registerKeys(app: FastifyInstance, options: KeysOptions): void {
  const { registry, directory, lastUse, clock } = options;
  const listed = async (found: readonly KeyRecord[]) => {
    const used = await lastUse.read();
    return { keys: found.map((key) => ({ ...showKey(key), lastUsedAt: isoOf(used.get(key.id)) })) };
  };
  serve(app, issueKey, async ({ params, body, actor }) => {
    const { label = '', expiresAt: given = null } = body;
    const expiresAt = readFutureDate('expiresAt', given, clock.now());
    const { key, text } = await issue({ teamId: params.id, label, expiresAt }, actor, options);
    return showIssued(key, text);
  });
  serve(app, listKeys, async ({ params }) => listed(directory.keysOf(existingTeam(params.id, directory))));
  serve(app, listAllKeys, async () => listed(directory.keys()));
  serve(app, revokeKey, ({ params, actor }) => revoke(params.id, actor, options));
  serve(app, rollKey, async ({ params, body: { overlapSeconds = 0 }, actor }) => {
    const key = existingKey(params.id, directory);
    refuseToRoll(key, directory, clock.now());
    const { text, secret } = directory.createSecret();
    const validUntil = new Date(clock.now() + overlapSeconds * 1000).toISOString();
    const [current] = key.secrets;
    // Only the secret that was current overlaps: one rolled away before keeps no second life.
    const old = current === undefined ? [] : [{ ...current, validUntil }];
    const rolled = { ...key, rolls: (key.rolls ?? 0) + 1, secrets: [secret, ...old] };
    await commitChange(registry, CHANGED, () => changeOf('key.roll', rolled, actor, options));
    return showIssued(rolled, text);
  });
}

/** @returns the text, too, which is not to be had again. @throws GatewayError `not_found`, `conflict` */
export async function issue(
  { teamId, label, expiresAt }: Pick<KeyRecord, 'teamId' | 'label' | 'expiresAt'>,
  actor: Actor,
  options: RecordsOptions,
): Promise<{ readonly key: KeyRecord; readonly text: string }> {
  const { text, secret } = options.directory.createSecret();
  const createdAt = new Date(options.clock.now()).toISOString();
  const draft = { id: newKeyId(), teamId, label, createdAt, expiresAt, revokedAt: null, secrets: [secret] };
  return { key: await issueForTeam(draft, actor, options), text };
}

/** One that is revoked stays so, and nothing is written. */
export async function revoke(id: string, actor: Actor, options: RecordsOptions): Promise<void> {
  const key = existingKey(id, options.directory);
  if (key.revokedAt !== null) return;
  const revoked = { ...key, revokedAt: new Date(options.clock.now()).toISOString() };
  await commitChange(options.registry, CHANGED, () => changeOf('key.revoke', revoked, actor, options));
}

function existingTeam(id: string, directory: Directory): string {
  if (directory.team(id) === undefined) throw noTeam();
  return id;
}

function existingKey(id: string, directory: Directory): KeyRecord {
  const key = directory.key(id);
  if (key === undefined)
    throw new GatewayError('not_found', {
      detail: 'There is no key of this id.',
      help: 'GET /admin/v1/teams/{id}/keys shows which there are.',
    });
  return key;
}

function refuseToRoll(key: KeyRecord, directory: Directory, nowMs: number): void {
  const help = `Issue another key by POST /admin/v1/teams/${key.teamId}/keys.`;
  if (directory.isRevoked(key)) throw new GatewayError('conflict', { detail: 'The key is revoked.', help });
  if (key.expiresAt !== null && Date.parse(key.expiresAt) <= nowMs)
    throw new GatewayError('conflict', {
      detail: `The key has expired (${key.expiresAt}), and so would a new secret of it.`,
      help,
    });
}

/** For the team as it is: one that is being deleted gets no key that would outlive it. */
async function issueForTeam(draft: KeyRecord, actor: Actor, options: RecordsOptions): Promise<KeyRecord> {
  const { registry, directory } = options;
  let key = draft;
  await commitChange(registry, { ...CHANGED, tries: MAX_TRIES }, () => {
    const teamRecord = TEAM_PREFIX + existingTeam(draft.teamId, directory);
    const life = directory.life(draft.teamId);
    key = life === 0 ? draft : { ...draft, life };
    const expect = new Map([[teamRecord, registry.get(teamRecord)?.revision ?? 0]]);
    return changeOf('key.issue', key, actor, options, expect);
  });
  return key;
}

const CHANGED = { what: 'The key or its team was' };

/** @param expect further records that must be as they were */
function changeOf(
  action: string,
  key: KeyRecord,
  actor: Actor,
  { registry, directory, clock }: RecordsOptions,
  expect: ReadonlyMap<string, number> = new Map(),
): RegistryCommit {
  const id = KEY_PREFIX + key.id;
  const before = directory.key(key.id);
  const shown = before === undefined ? {} : { before: showKey(before) };
  const event = { action, subject: key.id, ...shown, after: showKey(key) };
  return {
    writes: new Map([[id, JSON.stringify(key)]]),
    expect: new Map([...expect, [id, registry.get(id)?.revision ?? 0]]),
    audit: [auditLine(event, actor, clock.now())],
  };
}

/** As operators and the audit see it: without anything that would let somebody in. */
function showKey({ id, teamId, label, createdAt, expiresAt, revokedAt, secrets }: KeyRecord): object {
  const [current, old] = secrets;
  return {
    id,
    teamId,
    label,
    prefix: current?.prefix,
    createdAt,
    expiresAt,
    revokedAt,
    previous: old === undefined ? null : { prefix: old.prefix, validUntil: old.validUntil },
  };
}

function isoOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

/** @param text of the key, which is not to be had again */
function showIssued(key: KeyRecord, text: string): object {
  const { id, teamId, createdAt, expiresAt } = key;
  return { id, key: text, prefix: key.secrets[0]?.prefix, teamId, createdAt, expiresAt };
}
