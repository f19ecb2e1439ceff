/** The platform's token: show, and the steps of a rotation. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static, type TSchema } from 'typebox';
import type { VaultKeeper } from '../credential/keeper.js';
import type { Rotation } from '../credential/rotation.js';
import { type NewToken, showToken, type Vault } from '../credential/vault.js';
import { GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import { json, type Operation, type ProblemCode, shownAs } from '../openapi/operation.js';
import { readFutureDate } from './future-date.js';
import type { Reseal } from './reseal.js';
import { changed } from './say-unconfirmed.js';

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

const time = Type.String({ format: 'date-time' });

const Token = Type.Object(
  {
    id: Type.String(),
    fingerprint: Type.String({ description: 'Tells tokens apart, and shows nothing.' }),
    source: Type.Enum(['seed', 'staged', 'minted', 'file'], { description: 'Where it came from.' }),
    createdAt: time,
    expiresAt: time,
    expiryKnown: Type.Boolean({ description: 'False: one year from when it was first seen.' }),
    verifiedAt: Type.Union([time, Type.Null()], { description: 'Null: nothing has proven it.' }),
  },
  { title: 'Token' },
);
const Slot = Type.Union([Token, Type.Null()]);
const Tokens = Type.Object({ active: Slot, pending: Slot, previous: Slot }, { title: 'Tokens' });

const Resealed = Type.Object({
  masterKey: Type.String({ description: 'Id of the key that seals now; a digest.' }),
  records: Type.Array(Type.String(), { description: 'What was sealed anew.' }),
});

/** The steps in the OpenAPI document. */
const DESCRIBED = {
  stage: step('stageToken', ['conflict']),
  mint: step('mintToken', ['conflict', 'credential_unavailable']),
  verify: step('verifyToken', ['conflict', 'verification_failed']),
  activate: step('activateToken', ['conflict', 'verification_failed']),
  rollback: step('rollbackToken', ['conflict']),
  discard: step('discardToken', ['conflict']),
  rotate: step('rotateToken', ['conflict', 'verification_failed', 'credential_unavailable']),
  reseal: step('resealToken', ['conflict'], Resealed),
};

function step(id: string, problems: readonly ProblemCode[], answer: TSchema = Tokens): Operation {
  return { id, answers: { 200: changed(answer) }, problems };
}

export function registerToken(app: FastifyInstance, { keeper, rotation, reseal, clock }: TokenOptions): void {
  const staged = (token: string, expires: string | undefined): NewToken => ({
    secret: token,
    source: 'staged',
    expiresAt: readFutureDate('expiresAt', expires, clock.now()),
  });
  const route = (step: keyof typeof DESCRIBED, summary: string, body: typeof Nothing) =>
    [`/admin/v1/token/${step}`, shownAs('token', summary, DESCRIBED[step], body)] as const;

  app.get(
    '/admin/v1/token',
    shownAs('token', 'The tokens, without secrets', { id: 'getTokens', answers: { 200: json(Tokens) } }),
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

function show(vault: Vault): Static<typeof Tokens> {
  return {
    active: showToken(vault.active),
    pending: showToken(vault.pending),
    previous: showToken(vault.previous),
  };
}
