/** The pepper of key hashes and token fingerprints: random, made once, sealed in the registry. */

import { GatewayError } from '../../errors.js';
import { randomBuffer } from '../../lib/chance.js';
import type { Sealer } from '../../platform/credential/seal.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';

export const PEPPER_RECORD = 'meta/pepper';
/**
 * Keys the fingerprints of tokens instead of the pepper: the pepper of before a backup without tokens replaced it.
 * Fingerprints tell which tokens were in the vault before.
 */
export const TOKEN_PEPPER_RECORD = 'meta/token-pepper';
const PEPPER_BYTES = 32;

/**
 * Opens the pepper, making one in an empty registry.
 * @returns a function that returns the pepper; it is decrypted only when its record changes, and throws
 *   GatewayError `not_ready` when that was deleted
 * @throws SealError when the master key does not open it
 */
export async function openPepper(registry: Registry, sealer: Sealer): Promise<() => Buffer> {
  await ensurePepper(registry, sealer);
  let opened: { readonly text: string; readonly pepper: Buffer } | null = null;
  const pepper = (): Buffer => {
    const text = registry.get(PEPPER_RECORD)?.value;
    // The registry was emptied under a running gateway; nothing in it can be trusted.
    if (text === undefined) throw new GatewayError('not_ready', { internal: 'the registry holds no pepper' });
    if (opened?.text !== text) opened = { text, pepper: sealer.open(text, PEPPER_RECORD) };
    return opened.pepper;
  };
  pepper();
  return pepper;
}

/**
 * @param pepper of key hashes
 * @returns a function that gives the pepper of token fingerprints. It throws SealError, and what `pepper` throws
 */
export function tokenPepper(
  registry: Pick<Registry, 'get'>,
  sealer: Sealer,
  pepper: () => Buffer,
): () => Buffer {
  return () => {
    const text = registry.get(TOKEN_PEPPER_RECORD)?.value;
    return text === undefined ? pepper() : sealer.open(text, PEPPER_RECORD);
  };
}

/** @returns the same pepper, sealed with the first master key. @throws SealError */
export function resealPepper(sealed: string, sealer: Sealer): string {
  return sealer.seal(sealer.open(sealed, PEPPER_RECORD), PEPPER_RECORD);
}

/**
 * Makes a pepper where there is none. Two replicas may do so at once on an empty registry; the first pepper stays.
 * @throws StoreUnavailable
 */
export async function ensurePepper(registry: Registry, sealer: Sealer): Promise<void> {
  if (registry.get(PEPPER_RECORD) !== undefined) return;
  const sealed = sealer.seal(randomBuffer(PEPPER_BYTES), PEPPER_RECORD);
  await updateRecord(registry, PEPPER_RECORD, (text) => (text === null ? { text: sealed } : null));
}
