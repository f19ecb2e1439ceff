/** Requests at their end. */
import type { Ended } from '../../src/outcome.js';

/** A hit in memory of the team `growth`, unless it is changed. */
export function endedRequest(changes: Partial<Ended> = {}): Ended {
  return {
    team: 'growth',
    subject: '/api/v1/report/campaigns/get',
    outcome: 'hit',
    tier: 'l1',
    code: null,
    limit: null,
    via: null,
    rows: 0,
    bytesOut: 0,
    plainCalls: 1,
    platformCalls: 0,
    ...changes,
  };
}
