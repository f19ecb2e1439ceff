/** Calls of the console's session. */
import Type from 'typebox';
import { type AdminRole, ROLES } from '../../config/sign-in-settings.js';
import { BODY_PROBLEMS } from '../openapi/operation.js';
import { closed, instant, integer, nullable, text, time, titled } from '../openapi/schemas.js';
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

const OpenSession = titled('OpenSession', {
  id: text('For `sessions revoke`; of no use to sign in.'),
  use: Type.Enum(['console', 'explorer', 'command line']),
  by: Type.Enum(['token', 'key', 'person'], { description: 'What signed in.' }),
  holder: text('Name of the admin token, id of the key, or id of the person.'),
  name: nullable(Type.String(), "The person's name, or the key's label; null: forgotten, or without one."),
  team: nullable(Type.String(), 'The team as which the explorer is used.'),
  since: time,
  lastUsedAt: text('The last request, to the minute; ISO time.'),
  expiresAt: instant('Latest end.'),
  isYours: Type.Boolean({ description: 'Whether it is the session of this call.' }),
});

export const listSessions = describe('listSessions', 'viewer', 'GET /admin/v1/sessions', {
  summary: 'Who is signed in to console, explorer and command line',
  answer: Type.Object({ sessions: Type.Array(OpenSession) }),
  about: 'The open sessions, the latest use first.',
  problems: ['not_ready'],
});

export const revokeSession = describe('revokeSession', 'operator', 'DELETE /admin/v1/sessions/:id', {
  summary: 'End a session',
  path: { id: "The session's id, `ses_…`." },
  status: 204,
  problems: ['not_found', 'not_ready'],
});

export const revokeSessionsOfPerson = describe(
  'revokeSessionsOfPerson',
  'operator',
  'POST /admin/v1/persons/:id/revoke-sessions',
  {
    summary: 'End all sessions of a person',
    path: { id: "The person's id, `person_…`." },
    answer: titled('RevokedSessions', { revoked: integer(0, 1_000_000, 'How many were open.') }),
    about: 'Ended.',
    problems: ['not_ready'],
  },
);

export const getCaller = describe('getCaller', 'viewer', 'GET /admin/v1/me', {
  summary: 'Who calls, and by what',
  answer: titled('AdminCaller', {
    name: text('Name of the admin token, or of the person.'),
    role: Type.Enum([...RANKS]),
    by: Type.Enum(['token', 'console', 'command line'], {
      description: 'A token in a header, or a session of console or command line.',
    }),
    isPerson: Type.Boolean({ description: 'Whether a person has signed in with a company account.' }),
    expiresAt: nullable(Type.String(), 'Latest end of the session; null: a token.'),
  }),
  about: 'Who calls.',
});
