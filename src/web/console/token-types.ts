/** The platform's tokens in `GET /admin/v1/token`. Pure. */
import type { AnswerTo } from '../../api/operations/table.js';

export type Tokens = AnswerTo<'GET /admin/v1/token'>;
export type Token = NonNullable<Tokens['active']>;

/** A process of the gateway, with the token it uses. */
export type Holder = AnswerTo<'GET /admin/v1/status'>['processes'][number];

export const SLOTS = ['active', 'pending', 'previous'] as const;

export const SOURCES: Readonly<Record<Token['source'], string>> = {
  seed: 'from the settings',
  staged: 'pasted by an operator',
  minted: 'minted at the platform',
  file: 'from a file',
};

/** `call`: path and query below the platform's base URL; null: no call was needed. */
type Proof = Readonly<{ call: string | null; reason: string; reportsCompared: number }>;

/** @param after of an audit entry. @returns null without a proof */
export function proofOf(after: unknown): Proof | null {
  const proof = (after as { readonly proof?: Partial<Proof> } | null | undefined)?.proof;
  return typeof proof?.reason === 'string'
    ? { call: proof.call ?? null, reason: proof.reason, reportsCompared: proof.reportsCompared ?? 0 }
    : null;
}

/** @param after of an audit entry. @returns why the attempt failed; null: it did not */
export function failureOf(after: unknown): string | null {
  const noted = after as { readonly verified?: unknown; readonly reason?: unknown } | null | undefined;
  return noted?.verified === false ? String(noted.reason ?? 'The token could not be verified.') : null;
}
