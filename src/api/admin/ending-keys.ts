/** Keys that end soon: a warning of `doctor`, a note of `status`. */
import { timeLeft } from '../../lib/words.js';
import type { Services } from '../../server/services.js';
import type { KeyRecord } from '../../teams/auth/key-record.js';

const SOON_MS = 14 * 86_400_000;

const endsAtMs = ({ expiresAt }: KeyRecord) =>
  expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);

/** Keys that are valid now. */
export const validKeys = (
  directory: Pick<Services['directory'], 'keysOf' | 'isRevoked'>,
  teamId: string,
  nowMs: number,
): readonly KeyRecord[] =>
  directory.keysOf(teamId).filter((key) => !directory.isRevoked(key) && endsAtMs(key) > nowMs);

/** Valid keys that end within 14 days, the first to end first. */
export const endingKeys = (directory: Services['directory'], nowMs: number): readonly KeyRecord[] =>
  directory
    .teams()
    .flatMap(({ id }) => validKeys(directory, id, nowMs))
    .filter((key) => endsAtMs(key) - nowMs < SOON_MS)
    .sort((one, other) => endsAtMs(one) - endsAtMs(other));

/** E.g. `'dashboards' of team growth ends in 3 days`; the id of a key without a label. */
export const describeKey = (key: KeyRecord, nowMs: number): string =>
  `'${key.label || key.id}' of team ${key.teamId} ends in ${timeLeft(endsAtMs(key) - nowMs)}`;
