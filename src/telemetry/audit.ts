/** Audit lines: who changed what, when, from where. Written in the same transaction as the change. */

export interface Actor {
  /** Name of the admin token, or `gateway` for what the gateway does by itself. */
  readonly name: string;
  /** Address the change came from; null for the gateway itself. */
  readonly address: string | null;
}

export const GATEWAY_ACTOR: Actor = { name: 'gateway', address: null };

export interface AuditEvent {
  /** E.g. `team.create`, `token.activate`. */
  readonly action: string;
  /** What was changed, e.g. a team id. */
  readonly subject: string;
  /** State before and after, without secrets. */
  readonly before?: unknown;
  readonly after?: unknown;
}

export interface AuditRecord extends AuditEvent {
  readonly at: string;
  readonly actor: string;
  readonly address: string | null;
}

export function auditLine(event: AuditEvent, actor: Actor, nowMs: number): string {
  const record: AuditRecord = {
    at: new Date(nowMs).toISOString(),
    actor: actor.name,
    address: actor.address,
    ...event,
  };
  return JSON.stringify(record);
}
