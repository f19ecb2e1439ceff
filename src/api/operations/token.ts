/** Calls about the platform's tokens: their state, and the steps of a rotation. */
import Type from 'typebox';
import { closed, nullable, text, time, titled } from '../openapi/schemas.js';
import { operations } from './operation.js';

const secret = Type.String({
  pattern: '^[\\x21-\\x7e]{1,16384}$',
  description: 'The token, printable ASCII.',
});
const expiresAt = Type.Optional(text('ISO date; one year from now by default.'));
const force = Type.Optional(Type.Boolean({ description: 'Activate the token even if it is not verified.' }));
const Nothing = closed({});

const Token = titled('Token', {
  id: Type.String(),
  fingerprint: text('Identifies the token without revealing it.'),
  source: Type.Enum(['seed', 'staged', 'minted', 'file'], { description: 'Origin of the token.' }),
  createdAt: time,
  expiresAt: time,
  expiryKnown: Type.Boolean({
    description: 'False: expiresAt is an estimate, one year from when it was first seen.',
  }),
  verifiedAt: nullable(time, 'Null: not verified.'),
  refusedAt: nullable(time, 'When the platform refused it; null: it did not, or has accepted it since.'),
});
const Slot = nullable(Token);
const SLOTS = { active: Slot, pending: Slot, previous: Slot };
const Tokens = titled('Tokens', {
  ...SLOTS,
  canMint: Type.Boolean({
    description: 'Whether the token request is set, by which the gateway mints tokens.',
  }),
});
const RolledBack = titled('TokensRolledBack', {
  ...Tokens.properties,
  warning: Type.Optional(text('The platform refused the token that is active again, or it is not verified.')),
});

const describe = operations('token');

export const getTokens = describe('getTokens', 'viewer', 'GET /admin/v1/token', {
  summary: 'The platform tokens, without secrets',
  answer: Tokens,
});

export const stageToken = describe('stageToken', 'owner', 'POST /admin/v1/token/stage', {
  summary: 'Stage a token as pending',
  body: closed({ token: secret, expiresAt }),
  answer: Tokens,
  problems: ['conflict'],
});

export const mintToken = describe('mintToken', 'owner', 'POST /admin/v1/token/mint', {
  summary: 'Mint a token at the platform and stage it',
  body: Nothing,
  answer: Tokens,
  problems: ['conflict', 'credential_unavailable'],
});

export const verifyToken = describe('verifyToken', 'owner', 'POST /admin/v1/token/verify', {
  summary: 'Verify the pending token',
  body: Nothing,
  answer: Tokens,
  problems: ['conflict', 'verification_failed'],
});

export const activateToken = describe('activateToken', 'owner', 'POST /admin/v1/token/activate', {
  summary: 'Activate the pending token',
  body: closed({ force }),
  answer: Tokens,
  problems: ['conflict', 'verification_failed'],
});

export const rollbackToken = describe('rollbackToken', 'owner', 'POST /admin/v1/token/rollback', {
  summary: 'Verify the previous token and go back to it',
  body: closed({
    force: Type.Optional(
      Type.Boolean({ description: 'Also to a token that the platform refuses, or that cannot be verified.' }),
    ),
  }),
  answer: RolledBack,
  problems: ['conflict', 'verification_failed'],
});

export const discardToken = describe('discardToken', 'owner', 'POST /admin/v1/token/discard', {
  summary: 'Discard the pending token',
  body: Nothing,
  answer: Tokens,
  problems: ['conflict'],
});

export const resealToken = describe('resealToken', 'owner', 'POST /admin/v1/token/reseal', {
  summary: 'Re-encrypt the tokens and the pepper with the first master key',
  body: Nothing,
  answer: Type.Object({
    masterKey: text('Id (a digest) of the master key in use.'),
    records: Type.Array(Type.String(), { description: 'The re-encrypted records.' }),
  }),
  problems: ['conflict'],
});

export const rotateToken = describe('rotateToken', 'owner', 'POST /admin/v1/token/rotate', {
  summary: 'Stage or mint, verify and activate a token in one call',
  body: closed({ token: Type.Optional(secret), expiresAt, force }),
  answer: Tokens,
  problems: ['conflict', 'verification_failed', 'credential_unavailable'],
});
