/** Calls of the console's session. */
import Type from 'typebox';
import { type AdminRole, ROLES } from '../../config/sign-in-settings.js';
import { BODY_PROBLEMS } from '../openapi/operation.js';
import { closed, instant, nullable, text, titled } from '../openapi/schemas.js';
import { changed, operations, REMOVED_ANSWERS } from './operation.js';

/** Each role includes those before it. */
export const RANKS: readonly AdminRole[] = ROLES;

/** Members of the sessions of both planes. */
export const SESSION_MEMBERS = {
  csrf: text('Send it as x-csrf-token with every call except GET and HEAD.'),
  expiresAt: instant('Latest end of the session; it ends earlier after an hour without a request.'),
};

const ConsoleSession = titled('ConsoleSession', {
  name: text('Name of the admin token, or of the person.'),
  role: Type.Enum([...RANKS]),
  isPerson: Type.Boolean({ description: 'Whether a person has signed in with a company account.' }),
  may: Type.Array(Type.String(), { description: 'The calls that this role and session allow.' }),
  readOnly: nullable(
    Type.String(),
    'Why the session can only read, while the store is away; null: it can do what the role allows.',
  ),
  ...SESSION_MEMBERS,
});

const describe = operations('session');

export const openSession = describe('openSession', 'viewer', 'POST /admin/v1/session', {
  summary: 'Sign in to the console',
  body: closed(
    { token: Type.String({ minLength: 1, maxLength: 1024, description: 'An admin token.' }) },
    'SignIn',
  ),
  // Read before authentication, so no larger than a token needs.
  bodyLimit: 4096,
  isOpen: true,
  status: 201,
  answer: ConsoleSession,
  answers: { 201: { ...changed(ConsoleSession, 'Signed in.'), headers: ['set-cookie', 'cache-control'] } },
  problems: ['invalid_admin_token', 'session_forbidden', 'rate_limited', 'not_ready', ...BODY_PROBLEMS],
});

export const getSession = describe('getSession', 'viewer', 'GET /admin/v1/session', {
  summary: 'Who is signed in',
  answer: ConsoleSession,
  about: 'Who is signed in.',
  problems: ['not_found'],
});

export const closeSession = describe('closeSession', 'viewer', 'DELETE /admin/v1/session', {
  summary: 'Sign out',
  headers: ['x-csrf-token'],
  status: 204,
  answers: { ...REMOVED_ANSWERS, 204: { description: 'Signed out.', headers: ['set-cookie'] } },
  problems: ['not_found'],
});
