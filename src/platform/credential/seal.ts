/**
 * Encryption of secrets at rest: AES-256-GCM under the master key. Text form: `1.<key id>.<nonce>.<ciphertext and tag>`,
 * base64url. The context (record id and state) is authenticated: a text moved to another record cannot be opened.
 */
import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import type { Secret } from '../../config/secret.js';
import { randomBuffer } from '../../lib/chance.js';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export class SealError extends Error {
  override readonly name = 'SealError';
}

export type Sealer = ReturnType<typeof createSealer>;

/** @param masterKey 32 bytes in base64, or a comma-separated list: the first seals, all open. Read at each use */
export function createSealer(masterKey: Secret) {
  const keys = () => masterKey.read().split(',').map(parseKey);
  /** A text that is split has a first part. */
  const first = () => keys()[0] as Key;
  return {
    /** Identifies the first key without revealing it. */
    keyId: (): string => first().id,
    seal(plain: Buffer, context: string): string {
      const key = first();
      const nonce = randomBuffer(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key.bytes, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
      return `1.${key.id}.${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
    },
    /** @throws SealError if no key opens it, or it belongs to another context */
    open(text: string, context: string): Buffer {
      const { keyId, nonce, body } = parseSealed(text, context);
      const key = keys().find(({ id }) => id === keyId);
      if (key === undefined) {
        throw new SealError(
          `GATEWAY_MASTER_KEY holds no key that opens ${context} (sealed under ${keyId}): add the key it was sealed with; if that is lost: dsp-gateway store forget-sealed, which keeps the teams`,
        );
      }
      const decipher = createDecipheriv(CIPHER, key.bytes, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(context)).setAuthTag(body.subarray(-TAG_BYTES));
      try {
        return Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]);
      } catch (error) {
        throw new SealError(`the sealed text of ${context} is damaged or was moved`, { cause: error });
      }
    },
  };
}

/** Strict: one text for one sealed value, so that any change is detected. */
function parseSealed(text: string, context: string) {
  const [, keyId, nonce, body] =
    /^1\.([0-9a-f]{8})\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(text)?.map(String) ?? [];
  const sealed = { keyId, nonce: decode(nonce), body: decode(body) };
  if (sealed.nonce?.length !== NONCE_BYTES || sealed.body === null || sealed.body.length < TAG_BYTES) {
    throw new SealError(`the sealed text of ${context} is damaged`);
  }
  return { keyId: sealed.keyId, nonce: sealed.nonce, body: sealed.body };
}

/** Canonical base64url only: Node's decoder accepts any variant. */
function decode(text = ''): Buffer | null {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : null;
}

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

/** Checked at startup, but a file may have changed since. */
function parseKey(text: string): Key {
  const bytes = Buffer.from(text.trim(), 'base64');
  if (bytes.length !== KEY_BYTES) throw new SealError('GATEWAY_MASTER_KEY holds a key that is not 32 bytes');
  return {
    id: createHash('sha256').update('dsp-gateway key id').update(bytes).digest('hex').slice(0, 8),
    bytes,
  };
}
