/** Holds back the refusals of wrong keys, as long as `SlowFailures` says; nothing else waits. */
import type { FastifyInstance } from 'fastify';
import type { SlowFailures } from '../../auth/slow-failures.js';

/** Codes that whoever tries keys is answered with. */
const GUESSES: readonly (string | null)[] = [
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'invalid_admin_token',
  'invalid_session',
];

export function slowRefusals(app: FastifyInstance, failures: SlowFailures): void {
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (!GUESSES.includes(request.trace.code)) return done(null, payload);
    failures.hold(request.ip).then(
      () => done(null, payload),
      (error: Error) => done(error),
    );
  });
}
