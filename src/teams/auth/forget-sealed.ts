/** What is left of a registry whose master key is lost. Pure. */
import { VAULT_RECORD } from '../../platform/credential/keeper.js';
import { KEY_PREFIX } from './key-record.js';
import { PEPPER_RECORD, TOKEN_PEPPER_RECORD } from './pepper.js';

/** Records that nothing but a master key opens. */
export const SEALED_RECORDS: readonly string[] = [PEPPER_RECORD, TOKEN_PEPPER_RECORD, VAULT_RECORD];

/**
 * What was sealed, and the team keys with it: their hashes are keyed by a secret that was sealed, so none of them is
 * known again. Teams, purges and what was learned stay.
 * @param ids of all records
 * @returns ids of those that are of no use any more
 */
export function sealedAndKeys(ids: Iterable<string>): readonly string[] {
  return [...ids].filter((id) => SEALED_RECORDS.includes(id) || id.startsWith(KEY_PREFIX));
}
