import { hash } from 'node:crypto';

export interface ChecksumOf {
  readonly team: string;
  readonly method: string;
  /** Path, and the query as it would be sent. */
  readonly target: string;
  readonly body: Buffer | null;
}

/** Equal for writes of one team that are the same byte for byte: what was looked at is what is sent. */
export function checksumOf({ team, method, target, body }: ChecksumOf): string {
  const head = Buffer.from(`${JSON.stringify([team, method, target])}\n`);
  return `sha256:${hash('sha256', Buffer.concat([head, body ?? Buffer.alloc(0)]), 'base64url')}`;
}
