/** Stored form of a team's key, and of its number of deletions. */
import Type from 'typebox';
import type { Scope } from '../../config/sign-in-settings.js';
import { type RecordOf, recordForm } from '../../lib/record.js';

export const KEY_PREFIX = 'key/';
/**
 * The life of a team: how often its id was deleted. A key belongs to one life, so a deletion revokes every key, also those
 * unknown to the deleting replica.
 */
export const LIFE_PREFIX = 'team-life/';

const KeySecret = Type.Object({
  hash: Type.String({ minLength: 1 }),
  prefix: Type.String(),
  /** ISO; null: expires with the key. */
  validUntil: Type.Union([Type.String(), Type.Null()]),
});

/** A rolled key keeps its id. */
export const KeyRecord = recordForm(
  Type.Object({
    id: Type.String(),
    teamId: Type.String(),
    /** The team's life, see {@link LIFE_PREFIX}; absent: 0. */
    life: Type.Optional(Type.Integer({ minimum: 0 })),
    label: Type.String(),
    /** Id of the person who made it; absent: an operator. */
    maker: Type.Optional(Type.String()),
    /** Limits it to some of the team's scopes; absent: all of them. */
    scopes: Type.Optional(Type.Array(Type.Unsafe<Scope>(Type.String()))),
    createdAt: Type.String(),
    expiresAt: Type.Union([Type.String(), Type.Null()]),
    revokedAt: Type.Union([Type.String(), Type.Null()]),
    /** Absent: never rolled, or by a release that did not count. */
    rolls: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Newest first; two while the key is being rolled. */
    secrets: Type.Array(KeySecret),
  }),
);
export type KeyRecord = RecordOf<typeof KeyRecord>;
export type KeySecret = KeyRecord['secrets'][number];

export const LifeRecord = recordForm(Type.Object({ life: Type.Integer({ minimum: 0 }) }));
export type LifeRecord = RecordOf<typeof LifeRecord>;

/** @param before the record's text. @returns its text after one more deletion. @throws DamagedRecord */
export function endLife(id: string, before: string | undefined): string {
  const known = before === undefined ? { life: 0 } : LifeRecord.read(before, id);
  return JSON.stringify({ ...known, life: known.life + 1 });
}
