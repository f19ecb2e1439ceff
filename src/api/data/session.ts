/** The explorer's session: `/gateway/v1/session`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { clipName } from '../../lib/http/problem.js';
import { type Identify, personIn } from '../../teams/auth/authenticate.js';
import type { Directory } from '../../teams/auth/directory.js';
import type { Team } from '../../teams/auth/team.js';
import {
  arrivalOf,
  checkSignIn,
  endSessionCookie,
  judgeSession,
  writeSessionCookie,
} from '../../teams/sessions/browser-request.js';
import { LIFETIME_MS } from '../../teams/sessions/session-records.js';
import { notSignedIn, type Session, type Sessions } from '../../teams/sessions/sessions.js';
import { isOfTeam } from '../../teams/sign-in/people.js';
import { type Persons, whoOf } from '../../teams/sign-in/persons.js';
import { isKeyless, noteSession, readKeyHeaders } from '../http/caller.js';
import { type BodyLimits, parseJsonBody } from '../http/json-body.js';
import { readJsonBytes, withUnreadBodies } from '../http/request-body.js';
import type { AnswerOf } from '../operations/operation.js';
import {
  chooseTeam,
  closeExplorerSession,
  getExplorerSession,
  openExplorerSession,
} from '../operations/own.js';
import { enter, serveTeam } from './serve.js';

const EXPLORER_SESSION_PATH = '/gateway/v1/session';
const OWN_CALLS = '/gateway/v1/';
const PLATFORM_CALLS = '/api/v1/';

/** A platform answer may be HTML: its scripts must not run in the session of the user. */
const NO_PAGE = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'x-content-type-options': 'nosniff',
};

/**
 * Finds the session of each call that needs a key and has none. Its faults are noted for authentication and refused there,
 * so that a page is not refused for an expired cookie.
 */
export function takeSessions(app: FastifyInstance, sessions: Sessions): void {
  app.decorateRequest('session', null);
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.headers.cookie === undefined || !isForKeys(request)) return done();
    sessionFor(request, sessions).then(
      (session) => {
        request.session = session;
        if (session !== null) noteSession(request.raw, session);
        done();
      },
      (error: Error) => {
        if (!(error instanceof GatewayError)) return done(error);
        noteSession(request.raw, error);
        done();
      },
    );
  });
  // Leaves nothing in the browser's cache for the next user.
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.session === null) return payload;
    reply.header('cache-control', 'private, no-store');
    if (!request.url.startsWith(OWN_CALLS)) reply.headers(NO_PAGE);
    return payload;
  });
}

function isForKeys({ method, raw, routeOptions: { url = '' } }: FastifyRequest): boolean {
  if (method === 'POST' && url === EXPLORER_SESSION_PATH) return false;
  const isCall = url.startsWith(OWN_CALLS) || url.startsWith(PLATFORM_CALLS);
  return isCall && isKeyless(readKeyHeaders(raw));
}

/** @throws GatewayError `invalid_session`, `session_forbidden`, `not_ready` */
async function sessionFor(request: FastifyRequest, sessions: Sessions): Promise<Session | null> {
  const { method, routeOptions } = request;
  const session = await judgeSession(arrivalOf(request), sessions);
  const isRead = method === 'GET' || method === 'HEAD';
  if (session === null || isRead || (routeOptions.url ?? '').startsWith(OWN_CALLS)) return session;
  throw new GatewayError('session_forbidden', {
    detail: `${method} below ${PLATFORM_CALLS} needs a key: a session is read-only there.`,
    help: 'Send the team key in authorization or x-api-key.',
  });
}

interface ExplorerSessionOptions {
  readonly identify: Identify;
  readonly directory: Pick<Directory, 'findKey' | 'team' | 'teamsOf'>;
  readonly persons: Persons;
  readonly sessions: Sessions;
}

export function registerExplorerSession(app: FastifyInstance, options: ExplorerSessionOptions): void {
  const { identify, sessions } = options;
  registerSignIn(app, options);
  serveTeam(app, getExplorerSession, async (_call, request, reply) => {
    reply.header('cache-control', 'no-store');
    if (request.session?.isPerson) return describePerson(request, request.session, options);
    const caller = enter(identify, request);
    return describe(caller.team, request.session ?? notSignedIn('key'));
  });
  registerChoice(app, options);
  serveTeam(app, closeExplorerSession, async (_call, request, reply) => {
    // Works with a currently invalid key too: the session must not revive with the key.
    if (request.session === null) enter(identify, request);
    await sessions.close(request.session ?? notSignedIn('key'));
    const cookie = endSessionCookie(sessions.cookie, arrivalOf(request).secure);
    return reply.code(204).headers({ 'set-cookie': cookie, 'cache-control': 'no-store' }).send();
  });
}

/** A person with several teams acts as one at a time. */
function registerChoice(app: FastifyInstance, options: ExplorerSessionOptions): void {
  withUnreadBodies(app, (scope) => {
    serveTeam(scope, chooseTeam, async (_call, request) => {
      const { session } = request;
      if (session === null) enter(options.identify, request);
      const team = await readOnly(request, 'team', 'the id of a team');
      if (session?.isPerson !== true)
        throw new GatewayError('session_forbidden', {
          detail: 'Only a person with a company account chooses a team.',
        });
      const { grant } = personIn(options.persons, session.holder);
      if (!isOfTeam(grant, team) || options.directory.team(team) === undefined)
        throw new GatewayError('no_access', {
          detail: `This company account may not act as the team ${clipName(team)}.`,
        });
      return describePerson(request, await options.sessions.choose(session.id, team), options);
    });
  });
}

function registerSignIn(
  app: FastifyInstance,
  { identify, directory, sessions }: ExplorerSessionOptions,
): void {
  withUnreadBodies(app, (scope) => {
    serveTeam(scope, openExplorerSession, async (_call, request, reply) => {
      const arrival = arrivalOf(request);
      checkSignIn(arrival);
      const text = (await readOnly(request, 'key', 'a team key')).trim();
      const caller = enter(identify, request, { authorization: [], apiKey: [text] });
      const proof = directory.findKey(text)?.secret.hash;
      if (proof === undefined) throw new GatewayError('invalid_api_key');
      const session = await sessions.open({ holder: caller.key.id, proof }, arrival);
      const cookie = writeSessionCookie(sessions.cookie, session.id, LIFETIME_MS / 1000, arrival.secure);
      return reply
        .code(201)
        .headers({ 'set-cookie': cookie, 'cache-control': 'no-store' })
        .send(describe(caller.team, session));
    });
  });
}

/** The only member of a body. */
async function readOnly(request: FastifyRequest, param: string, what: string): Promise<string> {
  const parsed = parseJsonBody(await readJsonBytes(request, MAX_BODY_BYTES), BODY_LIMITS);
  const value = parsed.get(param);
  if (typeof value === 'string' && parsed.names.length === 1) return value;
  throw new GatewayError('invalid_body', {
    errors: [mustBe(param, `${what} and the only member`)],
  });
}

/** Read before authentication, so no larger than a key needs. */
const MAX_BODY_BYTES = 4096;
const BODY_LIMITS: BodyLimits = { maxMembers: 4, maxItems: 0 };

/** @param team as which the session acts; undefined: a person has chosen none */
function describe(team: Team | undefined, { csrf, endsAtMs }: Session): AnswerOf<typeof getExplorerSession> {
  const { scopes = [], advertisers = [] } = team ?? {};
  return {
    team: team === undefined ? null : { id: team.id, name: team.name },
    scopes: [...scopes],
    advertisers: advertisers === '*' ? '*' : [...advertisers],
    person: null,
    csrf,
    expiresAt: new Date(endsAtMs).toISOString(),
  };
}

/** Also without a team, so that one can be chosen. @throws GatewayError `invalid_session` */
function describePerson(
  request: FastifyRequest,
  session: Session,
  { persons, directory }: ExplorerSessionOptions,
): AnswerOf<typeof getExplorerSession> {
  const person = personIn(persons, session.holder);
  request.trace.person = whoOf(person);
  const teams = directory.teamsOf(person.grant);
  const chosen = teams.find(({ id }) => id === session.team);
  const { name, grant } = person;
  const shown = { name, keys: grant.keys, teams: teams.map((team) => ({ id: team.id, name: team.name })) };
  return { ...describe(chosen, session), person: { ...shown, chosen: chosen?.id ?? null } };
}
