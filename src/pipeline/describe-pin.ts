/** A pin as it is shown, and to whom. */
import type { Caller } from '../auth/authenticate.js';
import type { Directory } from '../auth/directory.js';
import type { Pin } from '../pins/pin.js';
import { showId } from '../report/answer-meta.js';

/** A team that was deleted and made again is another one, and has other pins. */
export type Lives = Pick<Directory, 'life'>;

export function ownerOf({ team }: Pick<Caller, 'team'>, { life }: Lives): string {
  return `${team.id}:${life(team.id)}`;
}

/** Whether the team was deleted since. Of one that is not known at all nothing is said: the registry may have been lost. */
export function isGone(owner: string, { life }: Lives): boolean {
  const cut = owner.lastIndexOf(':');
  return life(owner.slice(0, cut)) > Number(owner.slice(cut + 1));
}

/** Whether the team may see every account that the question names, or that is in the rows. */
export function mayBeSeen({ named, held }: Pin, { team }: Pick<Caller, 'team'>): boolean {
  if (team.advertisers === '*') return true;
  const allowed = new Set(team.advertisers.map(String));
  return named.length > 0 && [...named, ...held].every((account) => allowed.has(account));
}

export function describePin(pin: Pin) {
  const { id, revision, endpoint, query, note, createdAt, account, from, to, split } = pin;
  return {
    ...{ id, revision, endpoint, query, note, createdAt: new Date(createdAt).toISOString() },
    ...{ advertiserId: showId(account), period: from === null && to === null ? null : { from, to }, split },
    ...{
      knownAt: new Date(pin.knownAt).toISOString(),
      final: pin.final,
      rowCount: pin.rowCount,
      bytes: pin.bytes,
    },
  };
}
