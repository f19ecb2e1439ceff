/** A finished answer as HTTP: validators, age and lifetime, 304 (RFC 9110, section 13; RFC 9111, section 5). */
import { type CacheStatus, writeCacheStatus } from '../../outcome.js';
import type { Coding } from '../query/negotiate.js';

export interface Validators {
  /** Opaque tag of the plain body, without quotes. */
  readonly tag: string;
  readonly asOfMs: number;
  readonly freshUntilMs: number;
  /** When the question itself comes to mean another; Infinity when it never does. */
  readonly meansUntilMs: number;
  /** False when the platform forbade to keep it: then nobody on the way to the caller may either. */
  readonly keep: boolean;
}

export const VARY = 'accept, accept-encoding, authorization, x-api-key';

/** Each coding is a representation of its own, and a strong tag tells them apart (RFC 9110, section 8.8.3). */
export function entityTag(tag: string, coding: Coding): string {
  return coding === 'identity' ? `"${tag}"` : `"${tag}-${coding}"`;
}

/**
 * Whether the caller holds this answer already, in the coding it would get: what it has in another one may be of no
 * use to it, as where it asks for plain text now.
 */
export function isNotModified(ifNoneMatch: string | undefined, tag: string, coding: Coding): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const held = ifNoneMatch.split(',').map((one) => one.trim().replace(/^W\//, ''));
  return held.includes(entityTag(tag, coding));
}

/** Headers that a 200 and a 304 share. */
export function cacheHeaders(
  validators: Validators,
  coding: Coding,
  status: Omit<CacheStatus, 'ttlS'>,
  nowMs: number,
): Record<string, string> {
  const ageS = Math.max(0, Math.floor((nowMs - validators.asOfMs) / 1000));
  const leftS = Math.floor((validators.freshUntilMs - nowMs) / 1000);
  // However fresh the answer is, it is one to this question only while that means the same.
  const usableS = Math.min(leftS, Math.floor((validators.meansUntilMs - nowMs) / 1000));
  return {
    etag: entityTag(validators.tag, coding),
    age: String(ageS),
    // Age counts against max-age, so what is left comes on top of it.
    'cache-control': validators.keep
      ? `private, max-age=${ageS + Math.max(0, usableS)}`
      : 'private, no-store',
    'cache-status': writeCacheStatus(Object.assign({ ttlS: leftS }, status)),
    vary: VARY,
  };
}
