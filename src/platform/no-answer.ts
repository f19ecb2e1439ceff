/** The platform answered, with nothing to hand over. */
import { GatewayError } from '../errors.js';
import { CallFailed } from './call-failed.js';
import type { Verdict } from './interpret.js';
import type { Pause } from './pause.js';
import type { ActiveToken } from './token-source.js';

export class NoAnswer extends Error {
  constructor(readonly verdict: Exclude<Verdict, { kind: 'answer' | 'rejected' }>) {
    super(verdict.kind);
  }
}

/** What a verdict without an answer comes to, and what may be done about it. */
export function failureOf(verdict: NoAnswer['verdict'], { id }: ActiveToken, pause: Pause): CallFailed {
  switch (verdict.kind) {
    case 'credential-refused':
      return new CallFailed(new GatewayError('credential_unavailable', { retryAfterS: 5 }), 'token', {
        refusedToken: id,
      });
    case 'rate-limited':
      pause.open(verdict.retryAfterMs);
      return new CallFailed(pause.error(), 'never');
    case 'failed':
      return new CallFailed(verdict.error, verdict.retryable ? 'network' : 'never', {
        waitMs: verdict.retryAfterMs,
      });
    case 'invalid':
      return new CallFailed(verdict.error, 'never');
  }
}
