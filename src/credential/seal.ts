/**
 * Sealing of secrets at rest: AES-256-GCM under the master key.
 *
 * Text form: `1.<key id>.<nonce>.<ciphertext and tag>`, base64url. The context (record id and state) is
 * authenticated with it, so that a sealed text moved to another record does not open.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { Secret } from '../config/secret.js';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Sealer {
  /** Seals under the first key. */
  seal(plain: Buffer, context: string): string;
  /** @throws SealError when no key opens it, or it belongs to another context. */
  open(sealed: string, context: string): Buffer;
  /** Whether a text is sealed under the first key. */
  isCurrent(sealed: string): boolean;
}

export class SealError extends Error {
  override readonly name = 'SealError';
}

/**
 * @param masterKey a secret holding 32 bytes in base64, or a comma list of them: the first seals, all open.
 *   It is read at each use, so that a changed file takes effect at once.
 */
export function createSealer(masterKey: Secret): Sealer {
  const keys = () => masterKey.read().split(',').map(parseKey);
  return {
    seal(plain, context) {
      const key = keys()[0] as Key;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
      return `1.${key.id}.${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
    },
    open(text, context) {
      const [version, id, nonce, body] = text.split('.');
      const key = keys().find((candidate) => candidate.id === id);
      if (version !== '1' || nonce === undefined || body === undefined) {
        throw new SealError(`the sealed text of ${context} is damaged`);
      }
      if (key === undefined) {
        throw new SealError(`GATEWAY_MASTER_KEY holds no key that opens ${context} (sealed under ${id})`);
      }
      const bytes = Buffer.from(body, 'base64url');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key.bytes, Buffer.from(nonce, 'base64url'))
          .setAAD(Buffer.from(context))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]);
      } catch (error) {
        throw new SealError(`the sealed text of ${context} is damaged or was moved`, { cause: error });
      }
    },
    isCurrent: (text) => text.split('.')[1] === keys()[0]?.id,
  };
}

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

function parseKey(text: string): Key {
  const bytes = Buffer.from(text.trim(), 'base64');
  return {
    id: createHash('sha256').update('dsp-gateway key id').update(bytes).digest('hex').slice(0, 8),
    bytes,
  };
}
