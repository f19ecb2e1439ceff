/** Teams and keys of the admin API, and labels of their members. Pure. */
import type { AnswerTo } from '../../../api/operations/table.js';
import { keyState, SOON_MS } from '../../ui/key-state.js';

export type Team = AnswerTo<'GET /admin/v1/teams/:id'>;
export type TeamKey = AnswerTo<'GET /admin/v1/keys'>['keys'][number];
export type Advertiser = Pick<AnswerTo<'GET /admin/v1/advertisers'>['advertisers'][number], 'id' | 'name'>;

export const LIMITS = [
  { name: 'requestsPerMinute', title: 'Requests', unit: 'per minute', usual: 600 },
  { name: 'upstreamCallsPerDay', title: 'Platform calls', unit: 'per day', usual: 5000 },
  { name: 'maxRangeDays', title: 'Longest period', unit: 'days', usual: 400 },
  { name: 'maxConcurrent', title: 'Concurrent', unit: 'requests', usual: 32 },
] as const;

export const FORMATS = ['json', 'csv', 'ndjson', 'raw'] as const;

export const isDeclared = ({ managedBy }: Team): boolean => managedBy !== undefined;

/** `3 advertisers`, `all`, `none` */
export function advertisersInWords({ advertisers }: Pick<Team, 'advertisers'>): string {
  if (advertisers === '*') return 'all';
  return advertisers.length === 0 ? 'none' : String(advertisers.length);
}

/** The latest of ISO times; null: none. */
export function latest(times: readonly (string | null)[]): string | null {
  return times.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null);
}

/** Threshold: a key has not been used for long. */
const ASLEEP_MS = 30 * 86_400_000;

/** Why a valid key needs attention; null: it does not. */
export function concernOf(key: TeamKey, nowMs: number): 'expires' | 'sleeps' | null {
  const { createdAt, expiresAt, lastUsedAt } = key;
  if (keyState(key, nowMs) !== 'valid') return null;
  if (expiresAt !== null && Date.parse(expiresAt) < nowMs + SOON_MS) return 'expires';
  return Date.parse(lastUsedAt ?? createdAt) < nowMs - ASLEEP_MS ? 'sleeps' : null;
}

/** What is so of valid keys of which none needs attention. */
export function withoutConcern(keys: readonly Pick<TeamKey, 'lastUsedAt'>[]): string {
  if (keys.length === 0) return 'No team has a valid key: issue one on the page of a team.';
  const unused = keys.filter(({ lastUsedAt }) => lastUsedAt === null).length;
  const rest = unused === 0 ? '' : `; ${unused === 1 ? 'one was' : `${unused} were`} never used`;
  return `None: no key expires within 14 days, and each was used or issued in the last 30${rest}.`;
}
