/** Calls about the platform's tokens: their state, and the steps of a rotation. */
import Type from 'typebox';
import { operations } from './operation.js';

const secret = Type.String({
  pattern: '^[\\x21-\\x7e]{1,16384}$',
  description: 'The token, printable ASCII.',
});
const expiresAt = Type.Optional(Type.String({ description: 'ISO date; one year from now by default.' }));
const force = Type.Optional(Type.Boolean({ description: 'Activate the token even if it is not verified.' }));
const closed = { additionalProperties: false };
const Nothing = Type.Object({}, closed);

const time = Type.String({ format: 'date-time' });
const Token = Type.Object(
  {
    id: Type.String(),
    fingerprint: Type.String({ description: 'Identifies the token without revealing it.' }),
    source: Type.Enum(['seed', 'staged', 'minted', 'file'], { description: 'Origin of the token.' }),
    createdAt: time,
    expiresAt: time,
    expiryKnown: Type.Boolean({
      description: 'False: expiresAt is an estimate, one year from when it was first seen.',
    }),
    verifiedAt: Type.Union([time, Type.Null()], { description: 'Null: not verified.' }),
  },
  { title: 'Token' },
);
const Slot = Type.Union([Token, Type.Null()]);
const Tokens = Type.Object({ active: Slot, pending: Slot, previous: Slot }, { title: 'Tokens' });

const describe = operations('token');

export const getTokens = describe(
  'getTokens',
  'viewer',
  'GET /admin/v1/token',
  'The platform tokens, without secrets',
  {
    answer: Tokens,
  },
);

export const stageToken = describe(
  'stageToken',
  'owner',
  'POST /admin/v1/token/stage',
  'Stage a token as pending',
  { body: Type.Object({ token: secret, expiresAt }, closed), answer: Tokens, problems: ['conflict'] },
);

export const mintToken = describe(
  'mintToken',
  'owner',
  'POST /admin/v1/token/mint',
  'Mint a token at the platform and stage it',
  { body: Nothing, answer: Tokens, problems: ['conflict', 'credential_unavailable'] },
);

export const verifyToken = describe(
  'verifyToken',
  'owner',
  'POST /admin/v1/token/verify',
  'Verify the pending token',
  { body: Nothing, answer: Tokens, problems: ['conflict', 'verification_failed'] },
);

export const activateToken = describe(
  'activateToken',
  'owner',
  'POST /admin/v1/token/activate',
  'Activate the pending token',
  { body: Type.Object({ force }, closed), answer: Tokens, problems: ['conflict', 'verification_failed'] },
);

export const rollbackToken = describe(
  'rollbackToken',
  'owner',
  'POST /admin/v1/token/rollback',
  'Go back to the previous token',
  { body: Nothing, answer: Tokens, problems: ['conflict'] },
);

export const discardToken = describe(
  'discardToken',
  'owner',
  'POST /admin/v1/token/discard',
  'Discard the pending token',
  { body: Nothing, answer: Tokens, problems: ['conflict'] },
);

export const resealToken = describe(
  'resealToken',
  'owner',
  'POST /admin/v1/token/reseal',
  'Re-encrypt the tokens and the pepper with the first master key',
  {
    body: Nothing,
    answer: Type.Object({
      masterKey: Type.String({ description: 'Id (a digest) of the master key in use.' }),
      records: Type.Array(Type.String(), { description: 'The re-encrypted records.' }),
    }),
    problems: ['conflict'],
  },
);

export const rotateToken = describe(
  'rotateToken',
  'owner',
  'POST /admin/v1/token/rotate',
  'Stage or mint, verify and activate a token in one call',
  {
    body: Type.Object({ token: Type.Optional(secret), expiresAt, force }, closed),
    answer: Tokens,
    problems: ['conflict', 'verification_failed', 'credential_unavailable'],
  },
);
