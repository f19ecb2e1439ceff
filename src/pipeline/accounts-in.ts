/** The accounts in a body of which nothing else is read: a refusal, or what is JSON and does not say so. */
import type { DigestInput } from '../report/digest.js';
import type { WorkerPool } from '../workers/worker-pool.js';

export interface Unread {
  readonly digest: WorkerPool['digest'];
  readonly input: DigestInput;
  readonly token: string;
}

/** Bytes; what is none is not read to its end. */
const JSON_BEGINS_WITHIN = 256;

/** @returns none for what is neither JSON nor lines of JSON: there they cannot be told */
export async function accountsIn(body: Buffer, { digest, input, token }: Unread): Promise<readonly string[]> {
  if (!/[[{]/.test(body.toString('latin1', 0, JSON_BEGINS_WITHIN))) return [];
  for (const read of [() => body, () => asList(body)]) {
    const { outcome } = await digest([read()], input, token);
    if (outcome.kind === 'digest') return outcome.digest.accounts;
    if (outcome.kind === 'no-rows') return outcome.accounts;
  }
  return [];
}

/** Lines of JSON as one list; inside of JSON no text holds a line break. */
function asList(body: Buffer): Buffer {
  const lines = body.toString('latin1').split(/\r?\n/);
  return Buffer.from(`[${lines.filter((line) => line !== '').join(',')}]`, 'latin1');
}
