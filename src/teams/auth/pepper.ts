/** The pepper of key hashes and token fingerprints: random, created once, encrypted in the registry. */
import { GatewayError } from '../../errors.js';
import { randomBuffer } from '../../lib/chance.js';
import type { Sealer } from '../../platform/credential/seal.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';

export const PEPPER_RECORD = 'meta/pepper';
/**
 * The previous pepper, after a backup without tokens replaced it. Token fingerprints stay keyed by it, so that tokens that
 * were in the vault before are recognized.
 */
export const TOKEN_PEPPER_RECORD = 'meta/token-pepper';
const PEPPER_BYTES = 32;

/**
 * Decrypts the pepper, and creates it in an empty registry.
 * @returns the current pepper at each call. @throws GatewayError `not_ready` if its record was deleted
 * @throws SealError if the master key does not fit
 */
export async function openPepper(registry: Registry, sealer: Sealer): Promise<() => Buffer> {
  await ensurePepper(registry, sealer);
  let opened: { readonly text: string; readonly pepper: Buffer } | null = null;
  const pepper = (): Buffer => {
    const text = registry.get(PEPPER_RECORD)?.value;
    // The registry was emptied under a running gateway, so it cannot be trusted.
    if (text === undefined) throw new GatewayError('not_ready', { internal: 'the registry holds no pepper' });
    if (opened?.text !== text) opened = { text, pepper: sealer.open(text, PEPPER_RECORD) };
    return opened.pepper;
  };
  pepper();
  return pepper;
}

/** @returns the pepper of token fingerprints at each call. @throws SealError, and errors of `pepper` */
export function tokenPepper(registry: Registry, sealer: Sealer, pepper: () => Buffer): () => Buffer {
  return () => {
    const text = registry.get(TOKEN_PEPPER_RECORD)?.value;
    return text === undefined ? pepper() : sealer.open(text, PEPPER_RECORD);
  };
}

/** Encrypts the pepper with the first master key. @throws SealError */
export function resealPepper(sealed: string, sealer: Sealer): string {
  return sealer.seal(sealer.open(sealed, PEPPER_RECORD), PEPPER_RECORD);
}

/** Creates the pepper if it is missing; if two replicas do so at once, the first one stays. @throws StoreUnavailable */
export async function ensurePepper(registry: Registry, sealer: Sealer): Promise<void> {
  if (registry.get(PEPPER_RECORD) !== undefined) return;
  const sealed = sealer.seal(randomBuffer(PEPPER_BYTES), PEPPER_RECORD);
  await updateRecord(registry, PEPPER_RECORD, (text) => (text === null ? { text: sealed } : null));
}
