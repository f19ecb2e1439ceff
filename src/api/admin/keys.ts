/** Team keys: issue, list, roll, revoke. A key is shown only in the answer that created it. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Services } from '../../server/services.js';
import type { RegistryCommit } from '../../store/port.js';
import { commitChange } from '../../store/registry/record-book.js';
import { type Directory, newKeyId, TEAM_PREFIX } from '../../teams/auth/directory.js';
import { KEY_PREFIX, type KeyRecord } from '../../teams/auth/key-record.js';
import { PERSON_PREFIX } from '../../teams/sign-in/persons.js';
import { type Actor, auditLine } from '../../telemetry/audit.js';
import { joinRefused, type RefusedCalls } from '../../telemetry/refused-keys.js';
import {
  issueKey,
  listAllKeys,
  listKeys,
  revokeKey,
  revokeKeysOfPerson,
  rollKey,
} from '../operations/keys.js';
import { readFutureDate } from './members.js';
import { serve } from './serve.js';
import { noTeam } from './teams.js';

type RecordsOptions = Pick<Services, 'registry' | 'directory' | 'clock'>;

/** Retries if the team is edited at the same time. */
const MAX_TRIES = 5;

export function registerKeys(
  app: FastifyInstance,
  options: Pick<Services, 'registry' | 'directory' | 'clock' | 'lastUse' | 'persons' | 'health'>,
): void {
  const { directory, clock } = options;
  const listed = async (found: readonly KeyRecord[]) => {
    const refused = joinRefused(options.health.processes().flatMap(({ refusedKeys }) => refusedKeys));
    const { keys } = await showKeys(found, options);
    return { keys: keys.map((key) => ({ ...key, refusedCalls: callsWith(key.id, refused) })) };
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
  serve(app, revokeKeysOfPerson, async ({ params, actor }) => ({
    revoked: await revokeMadeBy(params.id, () => false, actor, options),
  }));
  serve(app, rollKey, ({ params, body: { overlapSeconds = 0 }, actor }) => {
    const key = existingKey(params.id, directory);
    if (key.maker === undefined) return roll(key, overlapSeconds, actor, options);
    throw new GatewayError('conflict', {
      detail: 'The key belongs to a person, who rolls it in the explorer.',
      help: `Issue another key by POST /admin/v1/teams/${key.teamId}/keys, or revoke this one.`,
    });
  });
}

/** @returns null: none */
function callsWith(id: string, refused: readonly RefusedCalls[]) {
  const [first] = refused.filter(({ key }) => key === id);
  return first === undefined ? null : { calls: first.calls, lastAt: first.lastAt, address: first.address };
}

/** Replaces a key's secret. @returns its new text, which is not stored. @throws GatewayError `conflict` */
export async function roll(
  key: KeyRecord,
  overlapSeconds: number,
  actor: Actor,
  options: RecordsOptions,
): Promise<object> {
  const { registry, directory, clock } = options;
  refuseToRoll(key, directory, clock.now());
  const { text, secret } = directory.createSecret();
  const validUntil = new Date(clock.now() + overlapSeconds * 1000).toISOString();
  const [current] = key.secrets;
  // Only the current secret overlaps: earlier ones end now.
  const old = current === undefined ? [] : [{ ...current, validUntil }];
  const rolled = { ...key, rolls: (key.rolls ?? 0) + 1, secrets: [secret, ...old] };
  await commitChange(registry, CHANGED, () => changeOf('key.roll', rolled, actor, options));
  return showIssued(rolled, text);
}

/** Keys in lists, with their last use, the names of their makers, and what refuses them now. */
export async function showKeys(
  found: readonly KeyRecord[],
  { lastUse, persons, directory, clock }: Pick<Services, 'lastUse' | 'persons' | 'directory' | 'clock'>,
): Promise<{ readonly keys: readonly (object & { readonly id: string })[] }> {
  const used = await lastUse.read();
  const isoOf = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  const makerOf = ({ maker }: KeyRecord) =>
    maker === undefined ? {} : { makerName: persons.find(maker)?.name ?? null };
  const refusalOf = ({ maker, teamId }: KeyRecord) =>
    directory.team(teamId)?.disabled === true
      ? 'team-disabled'
      : maker === undefined
        ? null
        : persons.keyFault(maker, teamId, clock.now());
  return {
    keys: found.map((key) => ({
      ...showKey(key),
      ...makerOf(key),
      lastUsedAt: isoOf(used.get(key.id)),
      refused: refusalOf(key),
    })),
  };
}

/**
 * @param within a limit, checked at each try; its record is written again, so that only one of two issues at a time succeeds
 * @returns the key and its text, which is not stored
 * @throws GatewayError `not_found`, `conflict`, errors of `within`
 */
export async function issue(
  given: Pick<KeyRecord, 'teamId' | 'label' | 'maker' | 'scopes' | 'expiresAt'>,
  actor: Actor,
  options: RecordsOptions,
  within?: IssueLimit,
): Promise<{ readonly key: KeyRecord; readonly text: string }> {
  const { text, secret } = options.directory.createSecret();
  const createdAt = new Date(options.clock.now()).toISOString();
  const draft = { ...given, id: newKeyId(), createdAt, revokedAt: null, secrets: [secret] };
  return { key: await issueForTeam(draft, actor, options, within), text };
}

export interface IssueLimit {
  readonly record: string;
  check(): void;
}

export async function revoke(id: string, actor: Actor, options: RecordsOptions): Promise<void> {
  const key = existingKey(id, options.directory);
  if (key.revokedAt !== null) return;
  await commitChange(options.registry, CHANGED, () => revocationOf(key, actor, options));
}

/**
 * Revokes the keys that a person made, all of them or, if it fails, none.
 * @param mayKeep of which teams they stay
 * @returns how many were revoked
 * @throws GatewayError `conflict`; StoreUnavailable
 */
export async function revokeMadeBy(
  maker: string,
  mayKeep: (team: string) => boolean,
  actor: Actor,
  options: RecordsOptions,
): Promise<number> {
  const { registry, directory } = options;
  const person = PERSON_PREFIX + maker;
  let count = 0;
  await commitChange(registry, { what: 'The keys of the person were', tries: MAX_TRIES }, () => {
    const lost = directory
      .keys()
      .filter((key) => key.maker === maker && key.revokedAt === null && !mayKeep(key.teamId));
    count = lost.length;
    if (count === 0) return null;
    const changes = lost.map((key) => revocationOf(key, actor, options));
    // A key that is made at the same time writes the record of its maker: it is revoked too, by another try.
    const made = [person, registry.get(person)?.revision ?? 0] as const;
    return {
      writes: new Map(changes.flatMap(({ writes }) => [...writes])),
      expect: new Map([made, ...changes.flatMap(({ expect = [] }) => [...expect])]),
      audit: changes.flatMap(({ audit = [] }) => audit),
    };
  });
  return count;
}

function revocationOf(key: KeyRecord, actor: Actor, options: RecordsOptions): RegistryCommit {
  const revoked = { ...key, revokedAt: new Date(options.clock.now()).toISOString() };
  return changeOf('key.revoke', revoked, actor, options);
}

function existingTeam(id: string, directory: Directory): string {
  if (directory.team(id) === undefined) throw noTeam(id, directory);
  return id;
}

function existingKey(id: string, directory: Directory): KeyRecord {
  const key = directory.key(id);
  if (key === undefined)
    throw new GatewayError('not_found', {
      detail: 'There is no key with this id.',
      help: 'GET /admin/v1/teams/{id}/keys lists the keys of a team.',
    });
  return key;
}

function refuseToRoll(key: KeyRecord, directory: Directory, nowMs: number): void {
  const help = `Issue another key by POST /admin/v1/teams/${key.teamId}/keys.`;
  if (directory.isRevoked(key)) throw new GatewayError('conflict', { detail: 'The key is revoked.', help });
  if (key.expiresAt !== null && Date.parse(key.expiresAt) <= nowMs)
    throw new GatewayError('conflict', {
      detail: `The key expired at ${key.expiresAt}; a new secret would be expired too.`,
      help,
    });
}

/** Commits against the team's current version: a team that is being deleted gets no key. */
async function issueForTeam(
  draft: KeyRecord,
  actor: Actor,
  options: RecordsOptions,
  within?: IssueLimit,
): Promise<KeyRecord> {
  const { registry, directory } = options;
  let key = draft;
  await commitChange(registry, { ...CHANGED, tries: MAX_TRIES }, () => {
    const teamRecord = TEAM_PREFIX + existingTeam(draft.teamId, directory);
    const life = directory.life(draft.teamId);
    key = life === 0 ? draft : { ...draft, life };
    within?.check();
    const counted = within && registry.get(within.record);
    const expect = new Map([[teamRecord, registry.get(teamRecord)?.revision ?? 0]]);
    if (within !== undefined) expect.set(within.record, counted?.revision ?? 0);
    const change = changeOf('key.issue', key, actor, options, expect);
    if (within === undefined || counted === undefined) return change;
    return { ...change, writes: new Map([...change.writes, [within.record, counted.value]]) };
  });
  return key;
}

const CHANGED = { what: 'The key or its team was' };

/** @param expect further records that must be unchanged */
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

/** For operators and the audit: without secrets. */
function showKey(key: KeyRecord): Readonly<Record<string, unknown>> & { readonly id: string } {
  const { id, teamId, label, maker, scopes, createdAt, expiresAt, revokedAt, secrets } = key;
  const [current, old] = secrets;
  return {
    id,
    teamId,
    label,
    ...(maker !== undefined && { maker }),
    ...(scopes !== undefined && { scopes }),
    prefix: current?.prefix,
    createdAt,
    expiresAt,
    revokedAt,
    previous: old === undefined ? null : { prefix: old.prefix, validUntil: old.validUntil },
  };
}

export function showIssued(key: KeyRecord, text: string): object {
  const { id, teamId, createdAt, expiresAt } = key;
  return { id, key: text, prefix: key.secrets[0]?.prefix, teamId, createdAt, expiresAt };
}
