/** Stored form of a team's key, and of the number of a team's life. */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';

export const KEY_PREFIX = 'key/';
/**
 * How often a team of this id was deleted. A key belongs to one life of a team: so a deletion revokes every key, also
 * those that the deleting replica did not know.
 */
export const LIFE_PREFIX = 'team-life/';

const KeySecret = Type.Object({
  hash: Type.String({ minLength: 1 }),
  prefix: Type.String(),
  /** ISO time at which this secret expires; null: with the key. */
  validUntil: Type.Union([Type.String(), Type.Null()]),
});

/** The id stays when the key is rolled. */
export const KeyRecord = recordForm(
  Type.Object({
    id: Type.String(),
    teamId: Type.String(),
    /** The team's life it was issued in, as {@link LIFE_PREFIX} counts them; absent: the first one, 0. */
    life: Type.Optional(Type.Integer({ minimum: 0 })),
    label: Type.String(),
    createdAt: Type.String(),
    expiresAt: Type.Union([Type.String(), Type.Null()]),
    revokedAt: Type.Union([Type.String(), Type.Null()]),
    /** How often it was rolled; absent: never, or by a release that did not count. */
    rolls: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Newest first; two while the key is being rolled. */
    secrets: Type.Array(KeySecret),
  }),
);
export type KeyRecord = RecordOf<typeof KeyRecord>;
export type KeySecret = KeyRecord['secrets'][number];

export const LifeRecord = recordForm(Type.Object({ life: Type.Integer({ minimum: 0 }) }));

/**
 * @param before text of the record with this id; undefined: there is none
 * @returns its text after one more deletion. @throws DamagedRecord
 */
export function endLife(id: string, before: string | undefined): string {
  const known = before === undefined ? { life: 0 } : LifeRecord.read(before, id);
  return JSON.stringify({ ...known, life: known.life + 1 });
}
