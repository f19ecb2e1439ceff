/** Audit records, written in the same transaction as the change. */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../lib/record.js';

export interface Actor {
  /** Name of the admin token, or `gateway`. */
  readonly name: string;
  /** Null for the gateway itself. */
  readonly address: string | null;
  /** Who has signed in with a company account; `name` is then for people only. */
  readonly person?: Who;
}

/** A person, by issuer and `sub`. */
export interface Who {
  readonly issuer: string;
  readonly sub: string;
  readonly name: string;
}

/** Actor of the lines about what persons do; no token has this name. */
const PERSON_ACTOR = 'person';

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

/** As stored and as in the admin API. */
export const AuditRecord = recordForm(
  Type.Object({
    at: Type.String(),
    actor: Type.String(),
    /** Of a person. */
    issuer: Type.Optional(Type.String()),
    sub: Type.Optional(Type.String()),
    name: Type.Optional(Type.String()),
    address: Type.Union([Type.String(), Type.Null()]),
    action: Type.String(),
    subject: Type.String(),
    before: Type.Optional(Type.Unknown()),
    after: Type.Optional(Type.Unknown()),
  }),
);
export type AuditRecord = RecordOf<typeof AuditRecord>;

interface AuditBook {
  readonly registry: {
    commit(change: { writes: ReadonlyMap<string, null>; audit: readonly string[] }): Promise<void>;
  };
  readonly clock: { now(): number };
}

/** Records an event that changes nothing in the registry. @throws StoreUnavailable */
export function noteEvent({ registry, clock }: AuditBook, event: AuditEvent, actor: Actor): Promise<void> {
  return registry.commit({ writes: new Map(), audit: [auditLine(event, actor, clock.now())] });
}

export function auditLine(event: AuditEvent, actor: Actor, nowMs: number): string {
  const record: AuditRecord = {
    at: new Date(nowMs).toISOString(),
    actor: actor.person === undefined ? actor.name : PERSON_ACTOR,
    ...actor.person,
    address: actor.address,
    ...event,
  };
  return JSON.stringify(record);
}
