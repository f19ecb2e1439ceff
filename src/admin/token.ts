/** The platform's token: show, and the steps of a rotation. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Clock } from '../clock.js';
import type { VaultKeeper } from '../credential/keeper.js';
import type { Rotation } from '../credential/rotation.js';
import { type NewToken, showToken, type Vault } from '../credential/vault.js';
import { GatewayError } from '../errors.js';
import { readFutureDate } from './future-date.js';
import type { Reseal } from './reseal.js';

export interface TokenOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly reseal: Reseal;
  readonly clock: Clock;
}

const secret = Type.String({
  pattern: '^[\\x21-\\x7e]{1,16384}$',
  description: 'The token, printable ASCII.',
});
const expiresAt = Type.Optional(Type.String({ description: 'ISO date; absent: one year from now.' }));
const force = Type.Optional(Type.Boolean({ description: 'Activate although nothing proved the token.' }));
const closed = { additionalProperties: false };

const Stage = Type.Object({ token: secret, expiresAt }, closed);
const Activate = Type.Object({ force }, closed);
const Rotate = Type.Object({ token: Type.Optional(secret), expiresAt, force }, closed);
const Nothing = Type.Object({}, closed);

export function registerToken(app: FastifyInstance, { keeper, rotation, reseal, clock }: TokenOptions): void {
  const staged = (token: string, expires: string | undefined): NewToken => ({
    secret: token,
    source: 'staged',
    expiresAt: readFutureDate('expiresAt', expires, clock.now()),
  });
  const route = (step: string, summary: string, body: typeof Nothing) =>
    [`/admin/v1/token/${step}`, { schema: { tags: ['token'], summary, body } }] as const;

  app.get(
    '/admin/v1/token',
    { schema: { tags: ['token'], summary: 'The tokens, without secrets' } },
    async () => show(keeper.vault()),
  );

  app.post(...route('stage', 'Put a token beside the active one', Stage), async (request) => {
    const body = request.body as Static<typeof Stage>;
    return show(await rotation.stage(staged(body.token, body.expiresAt), request.actor));
  });
  app.post(...route('mint', 'Ask the platform for a token and stage it', Nothing), async (request) =>
    show(await rotation.mint(request.actor)),
  );
  app.post(...route('verify', 'Prove the pending token', Nothing), async (request) =>
    show(await rotation.verify(request.actor)),
  );
  app.post(...route('activate', 'Make the pending token the active one', Activate), async (request) => {
    const body = request.body as Static<typeof Activate>;
    return show(await rotation.activate(body.force ?? false, request.actor));
  });
  app.post(...route('rollback', 'Go back to the previous token', Nothing), async (request) =>
    show(await rotation.rollback(request.actor)),
  );
  app.post(...route('discard', 'Forget the pending token', Nothing), async (request) =>
    show(await rotation.discard(request.actor)),
  );
  app.post(
    ...route('reseal', 'Seal the tokens and the pepper anew, under the first master key', Nothing),
    async (request) => reseal(request.actor),
  );
  app.post(...route('rotate', 'Stage or mint, verify and activate, in one', Rotate), async (request) => {
    const body = request.body as Static<typeof Rotate>;
    if (body.token === undefined && body.expiresAt !== undefined) {
      throw new GatewayError('invalid_body', {
        status: 422,
        errors: [{ param: 'expiresAt', message: 'goes with token only' }],
      });
    }
    const token = body.token === undefined ? null : staged(body.token, body.expiresAt);
    return show(await rotation.rotate(token, body.force ?? false, request.actor));
  });
}

function show(vault: Vault): object {
  return {
    active: showToken(vault.active),
    pending: showToken(vault.pending),
    previous: showToken(vault.previous),
  };
}
