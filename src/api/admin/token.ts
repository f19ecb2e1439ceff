/** The platform's token: show, and the steps of a rotation. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import type { VaultKeeper } from '../../platform/credential/keeper.js';
import type { Rotation } from '../../platform/credential/rotation.js';
import { type NewToken, showToken, type Vault } from '../../platform/credential/vault.js';
import type { AnswerOf } from '../operations/operation.js';
import {
  activateToken,
  discardToken,
  getTokens,
  mintToken,
  resealToken,
  rollbackToken,
  rotateToken,
  stageToken,
  verifyToken,
} from '../operations/token.js';
import { readFutureDate } from './future-date.js';
import type { Reseal } from './reseal.js';
import { serve } from './serve.js';

export interface TokenOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly reseal: Reseal;
  readonly clock: Clock;
}

export function registerToken(app: FastifyInstance, { keeper, rotation, reseal, clock }: TokenOptions): void {
  const staged = (token: string, expires: string | undefined): NewToken => ({
    secret: token,
    source: 'staged',
    expiresAt: readFutureDate('expiresAt', expires, clock.now()),
  });
  serve(app, getTokens, async () => show(keeper.vault()));
  serve(app, stageToken, async ({ body, actor }) =>
    show(await rotation.stage(staged(body.token, body.expiresAt), actor)),
  );
  serve(app, mintToken, async ({ actor }) => show(await rotation.mint(actor)));
  serve(app, verifyToken, async ({ actor }) => show(await rotation.verify(actor)));
  serve(app, activateToken, async ({ body, actor }) =>
    show(await rotation.activate(body.force ?? false, actor)),
  );
  serve(app, rollbackToken, async ({ actor }) => show(await rotation.rollback(actor)));
  serve(app, discardToken, async ({ actor }) => show(await rotation.discard(actor)));
  serve(app, resealToken, async ({ actor }) => reseal(actor));
  serve(app, rotateToken, async ({ body, actor }) => {
    if (body.token === undefined && body.expiresAt !== undefined) {
      throw new GatewayError('invalid_body', {
        status: 422,
        errors: [{ param: 'expiresAt', message: 'goes with token only' }],
      });
    }
    const token = body.token === undefined ? null : staged(body.token, body.expiresAt);
    return show(await rotation.rotate(token, body.force ?? false, actor));
  });
}

function show(vault: Vault): AnswerOf<typeof getTokens> {
  return {
    active: showToken(vault.active),
    pending: showToken(vault.pending),
    previous: showToken(vault.previous),
  };
}
