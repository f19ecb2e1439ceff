/** The platform's tokens as `GET /admin/v1/token` tells of them. Pure. */
import type { AnswerTo } from '../../api/operations/table.js';

export type Token = NonNullable<Tokens['active']>;

/** A process of the gateway, and the token it asks with. */
export type Holder = AnswerTo<'GET /admin/v1/status'>['processes'][number];

export type Tokens = AnswerTo<'GET /admin/v1/token'>;

export type Slot = 'active' | 'pending' | 'previous';

export const SLOTS: readonly Slot[] = ['active', 'pending', 'previous'];

/** As people tell where a token came from. */
export const SOURCES: Readonly<Record<Token['source'], string>> = {
  seed: 'from the settings',
  staged: 'pasted by an operator',
  minted: 'minted at the platform',
  file: 'from a file',
};

/** What proved a token, as the audit keeps it. */
export interface Proof {
  /** Path and query below the platform's base URL; null where nothing had to be asked. */
  readonly call: string | null;
  readonly reason: string;
  readonly reportsCompared: number;
}

/** @returns the proof in an entry of the audit, null where it has none */
export function proofOf(after: unknown): Proof | null {
  const proof = (after as { readonly proof?: Partial<Proof> } | null | undefined)?.proof;
  return typeof proof?.reason === 'string'
    ? { call: proof.call ?? null, reason: proof.reason, reportsCompared: proof.reportsCompared ?? 0 }
    : null;
}

/** @returns why a try failed, null where it did not */
export function failureOf(after: unknown): string | null {
  const noted = after as { readonly verified?: unknown; readonly reason?: unknown } | null | undefined;
  return noted?.verified === false ? String(noted.reason ?? 'The token could not be verified.') : null;
}
