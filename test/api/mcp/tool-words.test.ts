import { describe, expect, it } from 'vitest';
import { inWordsOfTools } from '../../../src/api/mcp/call-tool.js';
import { type ErrorCode, GatewayError, toProblem } from '../../../src/errors.js';

/** Of the errors that a tool can give. */
const CODES: readonly ErrorCode[] = [
  ...(['invalid_query', 'invalid_api_key', 'expired_api_key', 'revoked_api_key', 'scope_missing'] as const),
  ...(['advertiser_forbidden', 'advertiser_required', 'ip_forbidden', 'team_disabled'] as const),
  ...(['not_known_then', 'cursor_expired', 'not_final', 'rate_limited', 'internal_error'] as const),
  ...(['upstream_budget_exhausted', 'upstream_rejected', 'upstream_error', 'upstream_timeout'] as const),
  ...(['upstream_invalid_response', 'upstream_too_large', 'upstream_rate_limited'] as const),
  ...(['upstream_circuit_open', 'credential_unavailable', 'overloaded', 'not_ready'] as const),
];
const OF_HTTP = /retry-after|x-api-key|authorization|GET \/|(?<!\w)_[a-z]|dateFrom|dateTo|byDate|byCampaign/i;

const toldOf = (error: GatewayError) => toProblem(inWordsOfTools(error), 'r');

describe('an error of a tool', () => {
  it.each(CODES)('%s speaks of no header and no parameter of HTTP', (code) => {
    const { detail, help, status } = toldOf(new GatewayError(code, { retryAfterS: 3 }));
    expect(`${detail} ${help}`).not.toMatch(OF_HTTP);
    expect(status).toBe(new GatewayError(code).status);
  });

  it('names the arguments of tools in its detail and its help, as in its faults', () => {
    const error = new GatewayError('not_known_then', {
      detail: 'Without _asOf=2026-11-01 the days from dateFrom on are known.',
      help: 'Give _period=last_7_days, or wait as retry-after says; GET /gateway/v1/me lists advertisers.',
      errors: [{ param: '_fields', message: 'goes with byDate=1' }],
    });
    expect(toldOf(error)).toMatchObject({
      detail: 'Without asOf "2026-11-01" the days from period.from on are known.',
      help: 'Give period.relative "last_7_days", or wait as retryAfterSeconds says; the tool whoami lists advertisers.',
      errors: [{ param: 'columns', message: 'goes with "date" to split' }],
    });
  });

  it('keeps the status of the platform where that is told', () => {
    expect(toldOf(new GatewayError('upstream_rejected', { status: 404, errors: [] })).status).toBe(404);
  });
});
