/** Questions whose freshness is known: asked on 2026-11-21, when the 15th is the last final day. */
import type { Reply } from '../support/start-gateway.js';

const since = (to: string) => `advertiserId=1&byCampaign=1&dateFrom=2026-11-01&dateTo=${to}`;

/** Fresh for 30 days. */
export const FINAL = since('2026-11-15');
/** Fresh for an hour. */
export const RESTATING = since('2026-11-20');
/** Fresh for five minutes. */
export const CURRENT = since('2026-11-21');

/** The cache's word on an answer, without its name. */
export function cacheOf(reply: Reply): string {
  return reply.headers['cache-status']?.replace('dsp-gateway; ', '') ?? 'none';
}
