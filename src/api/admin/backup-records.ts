/** The records of a backup: which belong to one, and what is wrong with them. Values in, values out. */
import Type from 'typebox';
import Value from 'typebox/value';
import { isIsoDate } from '../../config/rules.js';
import type { FieldFault } from '../../errors.js';
import { VAULT_RECORD } from '../../platform/credential/keeper.js';
import { SealError, type Sealer } from '../../platform/credential/seal.js';
import { readVault } from '../../platform/credential/vault-text.js';
import { PURGES_RECORD, PurgeList } from '../../reports/cache/purges.js';
import type { Texts } from '../../store/registry/schema.js';
import { TEAM_PREFIX } from '../../teams/auth/directory.js';
import { KEY_PREFIX, KeyRecord, LIFE_PREFIX, LifeRecord } from '../../teams/auth/key-record.js';
import { PEPPER_RECORD, resealPepper, TOKEN_PEPPER_RECORD } from '../../teams/auth/pepper.js';
import { Team } from '../../teams/auth/team.js';
import { addressFaults } from '../../teams/declared/address-faults.js';
import { PREFIXES, SINGLE } from '../operations/registry.js';

export function isBackedUp(id: string): boolean {
  return SINGLE.includes(id) || PREFIXES.some((prefix) => id.startsWith(prefix));
}

/** What the admin API would refuse of a key, beyond the form that it is stored in. */
const IssuedKey = Type.Object({
  id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,100}$' }),
  teamId: Type.String({ minLength: 1 }),
  label: Type.String({ maxLength: 200 }),
  secrets: Type.Array(Type.Unknown(), { minItems: 1, maxItems: 2 }),
});

/** What the admin API would refuse of these records, and what could not be read; `param` is the id, or a place in it. */
export function recordFaults(records: Texts, sealer: Sealer): FieldFault[] {
  const faults = [...records].flatMap(([id, text]) => faultsOf(id, text, records, sealer));
  if (!records.has(PEPPER_RECORD)) faults.push({ param: PEPPER_RECORD, message: 'is missing' });
  return faults;
}

function faultsOf(id: string, text: string, records: Texts, sealer: Sealer): FieldFault[] {
  if (SEALED.has(id)) return sealFaults(id, text, sealer);
  const value = parse(text);
  if (id === PURGES_RECORD) return PurgeList.is(value) ? [] : [damaged(id)];
  if (id.startsWith(LIFE_PREFIX)) return LifeRecord.is(value) ? [] : [damaged(id)];
  if (id.startsWith(TEAM_PREFIX)) {
    if (!Value.Check(Team, value) || value.id !== id.slice(TEAM_PREFIX.length)) return [damaged(id)];
    return addressFaults(value.ipAllow, `${id}.`);
  }
  if (!KeyRecord.is(value) || !Value.Check(IssuedKey, value) || value.id !== id.slice(KEY_PREFIX.length))
    return [damaged(id)];
  return [...dateFaults(id, value), ...teamFaults(id, value, records)];
}

const SEALED = new Set([PEPPER_RECORD, TOKEN_PEPPER_RECORD, VAULT_RECORD]);

function sealFaults(id: string, text: string, sealer: Sealer): FieldFault[] {
  try {
    if (id === VAULT_RECORD) readVault(text, sealer);
    else resealPepper(text, sealer);
    return [];
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return [{ param: id, message: error.message }];
  }
}

function dateFaults(id: string, key: KeyRecord): FieldFault[] {
  const dates: readonly (readonly [string, string | null])[] = [
    ['createdAt', key.createdAt],
    ['expiresAt', key.expiresAt],
    ['revokedAt', key.revokedAt],
    ...key.secrets.map(({ validUntil }, at) => [`secrets.${at}.validUntil`, validUntil] as const),
  ];
  return dates.flatMap(([name, date]) =>
    date === null || isIsoDate(date)
      ? []
      : [{ param: `${id}.${name}`, message: 'must be an ISO date, e.g. 2027-11-01T00:00:00Z' }],
  );
}

/** Keys of teams that are gone are kept, revoked. Any other without a team would wait for one of its name. */
function teamFaults(id: string, key: KeyRecord, records: Texts): FieldFault[] {
  const life = records.get(LIFE_PREFIX + key.teamId);
  const isOver = key.revokedAt !== null || (key.life ?? 0) < lifeIn(life);
  if (isOver || records.has(TEAM_PREFIX + key.teamId)) return [];
  return [{ param: `${id}.teamId`, message: `must be a team of the backup; it has no ${key.teamId}` }];
}

function lifeIn(text: string | undefined): number {
  return text === undefined ? 0 : (LifeRecord.parse(text)?.life ?? 0);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Told as damage, without the parser's words: they quote the record.
    return undefined;
  }
}

function damaged(param: string): FieldFault {
  return { param, message: 'is damaged' };
}
