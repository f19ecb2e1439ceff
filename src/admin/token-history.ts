/** How the platform's token came to be held: by each process, and by which tries, failed ones among them. */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../record.js';
import type { Store } from '../store/port.js';
import { AuditRecord } from '../telemetry/audit.js';
import type { ProcessHealth } from '../telemetry/health.js';

const orNull = (schema: ReturnType<typeof Type.String>) => Type.Union([schema, Type.Null()]);
const time = Type.String({ format: 'date-time' });

export const TokenHistory = {
  replicas: Type.Array(
    Type.Object({
      id: Type.String(),
      host: Type.String(),
      pid: Type.Integer(),
      tokenId: orNull(Type.String({ description: 'Null: it has none, or does not tell.' })),
      since: orNull(time),
      isActive: Type.Boolean({ description: 'It is the active token.' }),
    }),
    { description: 'Each process that is heard of, and the token that it asks with.' },
  ),
  tries: Type.Array(
    Type.Object({
      at: time,
      actor: Type.String(),
      action: Type.String({ description: 'E.g. token.verify.' }),
      subject: Type.String(),
      outcome: Type.Enum(['done', 'failed']),
      reason: orNull(Type.String({ description: 'Why it failed.' })),
    }),
    { description: 'The latest steps of rotations by the audit, newest first.' },
  ),
};
type Replica = Frozen<Static<typeof TokenHistory.replicas>>[number];
type Try = Frozen<Static<typeof TokenHistory.tries>>[number];

/** Entries of the audit that are looked through, and tries that are shown. */
const LOOKED_AT = 1000;
const MOST_TRIES = 20;

export function holdersOf(processes: readonly ProcessHealth[], activeId: string | null): readonly Replica[] {
  return processes.map(({ id, host, pid, tokenId, tokenSince }) => ({
    ...{ id, host, pid, tokenId, since: tokenSince },
    isActive: tokenId !== null && tokenId === activeId,
  }));
}

/** @throws StoreUnavailable */
export async function readTries(registry: Pick<Store['registry'], 'readAudit'>): Promise<readonly Try[]> {
  const lines = await registry.readAudit(LOOKED_AT);
  return lines
    .map(({ id, text }) => AuditRecord.read(text, `audit/${id}`))
    .filter(({ action }) => action.startsWith('token.') && action !== 'token.reseal')
    .slice(0, MOST_TRIES)
    .map(({ at, actor, action, subject, after }) => ({
      ...{ at, actor, action, subject },
      ...outcomeOf(after),
    }));
}

/** A step that changed nothing is noted with what was not reached, and why. */
function outcomeOf(after: unknown): Pick<Try, 'outcome' | 'reason'> {
  const { verified, reason } = (after ?? {}) as { readonly verified?: unknown; readonly reason?: unknown };
  if (verified !== false) return { outcome: 'done', reason: null };
  return { outcome: 'failed', reason: typeof reason === 'string' ? reason : null };
}
