/** Calls about the platform's token: what there is, and the steps of a rotation. */
import Type from 'typebox';
import { operations } from './operation.js';

const secret = Type.String({
  pattern: '^[\\x21-\\x7e]{1,16384}$',
  description: 'The token, printable ASCII.',
});
const expiresAt = Type.Optional(Type.String({ description: 'ISO date; absent: one year from now.' }));
const force = Type.Optional(Type.Boolean({ description: 'Activate although nothing proved the token.' }));
const closed = { additionalProperties: false };
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

const describe = operations('token');

export const getTokens = describe(
  'getTokens',
  'viewer',
  'GET /admin/v1/token',
  'The tokens, without secrets',
  {
    answer: Tokens,
  },
);

export const stageToken = describe(
  'stageToken',
  'owner',
  'POST /admin/v1/token/stage',
  'Put a token beside the active one',
  { body: Type.Object({ token: secret, expiresAt }, closed), answer: Tokens, problems: ['conflict'] },
);

export const mintToken = describe(
  'mintToken',
  'owner',
  'POST /admin/v1/token/mint',
  'Ask the platform for a token and stage it',
  { body: Nothing, answer: Tokens, problems: ['conflict', 'credential_unavailable'] },
);

export const verifyToken = describe(
  'verifyToken',
  'owner',
  'POST /admin/v1/token/verify',
  'Prove the pending token',
  { body: Nothing, answer: Tokens, problems: ['conflict', 'verification_failed'] },
);

export const activateToken = describe(
  'activateToken',
  'owner',
  'POST /admin/v1/token/activate',
  'Make the pending token the active one',
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
  'Forget the pending token',
  { body: Nothing, answer: Tokens, problems: ['conflict'] },
);

export const resealToken = describe(
  'resealToken',
  'owner',
  'POST /admin/v1/token/reseal',
  'Seal the tokens and the pepper anew, under the first master key',
  {
    body: Nothing,
    answer: Type.Object({
      masterKey: Type.String({ description: 'Id of the key that seals now; a digest.' }),
      records: Type.Array(Type.String(), { description: 'What was sealed anew.' }),
    }),
    problems: ['conflict'],
  },
);

export const rotateToken = describe(
  'rotateToken',
  'owner',
  'POST /admin/v1/token/rotate',
  'Stage or mint, verify and activate, in one',
  {
    body: Type.Object({ token: Type.Optional(secret), expiresAt, force }, closed),
    answer: Tokens,
    problems: ['conflict', 'verification_failed', 'credential_unavailable'],
  },
);
