/** A token that waits for its activation: a note of `status`. */
import { minuteOf } from '../../lib/words.js';
import type { Vault } from '../../platform/credential/vault.js';

/** @returns nothing without a pending token */
export function describePending({ pending }: Pick<Vault, 'pending'>): readonly string[] {
  if (pending === null) return [];
  const { verifiedAt, createdAt } = pending;
  const [kind, next] =
    verifiedAt === null ? ['an unverified', 'token verify'] : ['a verified', 'token activate'];
  const since = minuteOf(Date.parse(createdAt));
  return [
    `${kind} token is pending since ${since} (to go on: dsp-gateway ${next}; to drop it: dsp-gateway token discard)`,
  ];
}
