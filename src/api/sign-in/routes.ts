/** People sign in with their company account: `/auth/…` of both planes. The query of a callback is never logged. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Services } from '../../server/services.js';
import { groupOf } from '../../teams/auth/auth.js';
import {
  arrivalOf,
  endSessionCookie,
  judgeSession,
  writeSessionCookie,
} from '../../teams/sessions/browser-request.js';
import { PERSON_LIFETIME_MS } from '../../teams/sessions/session-records.js';
import { notSignedIn, type Sessions } from '../../teams/sessions/sessions.js';
import { givesNothing } from '../../teams/sign-in/people.js';
import { actorOf, mayHaveKeys, type Person, whoOf } from '../../teams/sign-in/persons.js';
import { wordsOf } from '../../teams/sign-in/provider.js';
import { type Actor, noteEvent } from '../../telemetry/audit.js';
import { revokeMadeBy } from '../admin/keys.js';
import { type Account, createAttempts, isAccount } from './attempts.js';
import { registerCommandLine } from './command-line.js';
import { checkPlace, HIDDEN, registerPageErrors, sendOn } from './pages.js';

export interface SignInOptions {
  readonly plane: 'data' | 'admin';
  readonly sessions: Sessions;
  /** Of the admin plane: the sessions of the command line. */
  readonly commandLine?: Sessions;
  readonly services: Services;
}

/** By address, over all replicas. */
const PER_MINUTE = { capacity: 30, refillPerMs: 30 / 60_000, ttlMs: 60_000, want: 1 };
const CALLBACK = '/auth/callback';
const PROMPTS: Readonly<Record<Account, string>> = { choose: 'select_account', login: 'login' };

export function registerSignIn(app: FastifyInstance, options: SignInOptions): void {
  const { plane, services, sessions, commandLine } = options;
  const { oidc, tokenSignIn } = services.config.auth;
  const address = plane === 'admin' ? oidc.adminPublicUrl : oidc.publicUrl;
  const company = services.provider !== null && address !== undefined;
  const ways = { company, token: plane === 'data' || tokenSignIn };
  app.get('/auth/ways', HIDDEN, async (_request, reply) =>
    reply.header('cache-control', 'no-store').send(ways),
  );
  void app.register(async (scope) => {
    registerPageErrors(scope);
    scope.addHook('onRequest', async (request) => limit(request, services));
    if (company) registerFlow(scope, new URL(address), options);
    if (company && commandLine !== undefined)
      registerCommandLine(scope, new URL(address), { sessions, commandLine, services });
    registerSignOut(scope, company ? new URL(address) : null, options);
  });
}

/** @throws GatewayError `rate_limited` */
async function limit(request: FastifyRequest, { store, clock }: Services): Promise<void> {
  const take = { ...PER_MINUTE, nowMs: clock.now() };
  const { granted, nextInMs } = await store.quotas.take(`sign-in:${groupOf(request.ip)}`, take);
  if (granted > 0) return;
  throw new GatewayError('rate_limited', {
    detail: 'There were too many sign-ins from this address in the last minute.',
    retryAfterS: Math.max(1, Math.ceil(nextInMs / 1000)),
  });
}

function registerFlow(app: FastifyInstance, own: URL, options: SignInOptions): void {
  const { plane, sessions, services } = options;
  const { persons, clock, sealer, store } = services;
  const provider = services.provider as NonNullable<Services['provider']>;
  const callback = new URL(CALLBACK, own);
  const isSecure = own.protocol === 'https:';
  const attempts = createAttempts({ plane, own, isSecure, path: CALLBACK, sealer, store, clock });

  app.get('/auth/login', HIDDEN, async (request, reply) => {
    const { to, account: given } = request.query as { readonly to?: unknown; readonly account?: unknown };
    const account = isAccount(given) ? given : undefined;
    request.again = { ...(typeof to === 'string' && { to }), ...(account && { account }) };
    checkPlace(request, own);
    const before = await knownDocument(request, sessions);
    const { checks, cookie } = attempts.begin(to, {
      ...(account && { account }),
      ...(before !== null && { before }),
    });
    const url = await provider.signInUrl(callback.href, checks, account && PROMPTS[account]);
    return reply.header('set-cookie', cookie).header('cache-control', 'no-store').redirect(url.href, 302);
  });

  app.get(CALLBACK, HIDDEN, async (request, reply) => {
    const { state, error, error_description: says } = request.query as Record<string, unknown>;
    const attempt = attempts.find(state, request.headers.cookie);
    // Whatever comes of it.
    reply.header('set-cookie', attempts.end(state));
    if (attempt === null) throw new GatewayError('sign_in_failed', { detail: NOT_HERE });
    // A provider that knows no list of accounts refuses to show one.
    const further = attempt.account === undefined ? {} : { account: 'login' as const };
    request.again = { to: attempt.to.slice(own.origin.length), ...further };
    if (!(await attempts.claim(attempt.checks))) throw new GatewayError('sign_in_failed', { detail: TWICE });
    const query = request.raw.url?.split('?')[1] ?? '';
    const from = await provider
      .exchange(new URL(`${callback.href}?${query}`), attempt.checks)
      .catch((cause) => {
        if (typeof error !== 'string') throw cause;
        throw refusedBy(wordsOf(error), wordsOf(says));
      });
    const person = await persons.signIn(from);
    request.trace.person = whoOf(person);
    const actor = actorOf(person, request.ip);
    await revokeMadeBy(person.id, (team) => mayHaveKeys(person, team), actor, services);
    if (!mayOpen(person, plane)) {
      await noteRefusal(person, actor, options);
      throw noAccess(from.claims, plane);
    }
    if (attempt.before !== undefined) await sessions.close({ document: attempt.before });
    const until = new Date(clock.now() + PERSON_LIFETIME_MS).toISOString();
    const event = { action: 'session.open', subject: person.id, after: { plane, until } };
    const team = plane === 'data' ? onlyTeam(person, services) : null;
    const session = await sessions.open(
      { holder: person.id, proof: person.id, isPerson: true, ...(team !== null && { team }) },
      { host: own.host, ownOrigin: own.origin },
      () => noteEvent(services, event, actor),
    );
    reply.header(
      'set-cookie',
      writeSessionCookie(sessions.cookie, session.id, PERSON_LIFETIME_MS / 1000, isSecure),
    );
    return sendOn(reply, attempt.to, 'Signed in');
  });
}

/** With a token's or key's session too. */
function registerSignOut(
  app: FastifyInstance,
  own: URL | null,
  { plane, sessions, services }: SignInOptions,
): void {
  const { provider, persons, log } = services;
  app.post('/auth/logout', HIDDEN, async (request, reply) => {
    const arrival = arrivalOf(request);
    const session =
      (await judgeSession(arrival, sessions)) ?? notSignedIn(plane === 'admin' ? 'token' : 'key');
    await sessions.close(session);
    const person = session.isPerson ? persons.find(session.holder) : null;
    const event = { action: 'session.close', subject: session.holder, after: { plane } };
    // A failing audit must not keep the session open.
    if (person !== null)
      await noteEvent(services, event, actorOf(person, request.ip)).catch((error: unknown) => {
        request.log.warn({ err: error }, 'failed to record the end of a session in the audit');
      });
    const page = plane === 'admin' ? '/' : '/explorer';
    const there = own !== null && session.isPerson ? provider?.signOutUrl(new URL(page, own).href) : null;
    const location = await Promise.resolve(there ?? null).catch((error: Partial<GatewayError>) => {
      log.logger.warn(
        { code: error.options?.internal ?? 'unreachable' },
        'signed out here only: the provider is away',
      );
      return null;
    });
    const cookie = endSessionCookie(sessions.cookie, own?.protocol === 'https:' || arrival.secure);
    reply.headers({ 'set-cookie': cookie, 'cache-control': 'no-store' });
    return reply.send({ location: location ?? page });
  });
}

/** Document of the session that the browser has, if any. */
async function knownDocument(request: FastifyRequest, sessions: Sessions): Promise<string | null> {
  const known = await judgeSession(
    { ...arrivalOf(request), method: 'GET', origin: undefined },
    sessions,
  ).catch((error: unknown) => {
    if (error instanceof GatewayError) return null;
    throw error;
  });
  return known?.document ?? null;
}

const mayOpen = ({ grant }: Person, plane: SignInOptions['plane']): boolean =>
  !givesNothing(grant) && (plane === 'admin' ? grant.admin !== null : grant.teams.length > 0);

/** Of a stranger the log alone tells: all who have an account at the provider could fill the audit. */
async function noteRefusal(person: Person, actor: Actor, { plane, services }: SignInOptions): Promise<void> {
  if (services.persons.find(person.id) === null) return;
  const event = { action: 'session.refuse', subject: person.id, after: { plane } };
  await noteEvent(services, event, actor);
}

/** The team to begin with: if there is one only. */
function onlyTeam({ grant }: Person, { directory }: Services): string | null {
  const [first, ...others] = directory.teamsOf(grant);
  return first !== undefined && others.length === 0 ? first.id : null;
}

function noAccess(claims: Readonly<Record<string, unknown>>, plane: SignInOptions['plane']): GatewayError {
  const names = Object.keys(claims).map(wordsOf).slice(0, 50).sort().join(', ');
  const { _claim_names: elsewhere } = claims;
  const left =
    typeof elsewhere === 'object' && elsewhere !== null
      ? ` The provider left out ${Object.keys(elsewhere).map(wordsOf).slice(0, 10).join(', ')} (_claim_names): they are too many for its token.`
      : '';
  const what = plane === 'admin' ? 'the console (admin)' : 'the explorer (teams)';
  return new GatewayError('no_access', {
    detail: `You have signed in, but no rule gives this account ${what}. Claims that came: ${names}.${left}`,
    help: 'Ask your operator: the rules are auth.oidc.people in the settings of the gateway (GATEWAY_CONFIG).',
  });
}

function refusedBy(error: string, says: string): GatewayError {
  const words = wordsOf(says === '' ? error : `${error}: ${says}`);
  return new GatewayError('sign_in_failed', { detail: `The identity provider says: ${words}` });
}

const NOT_HERE = 'This browser has not begun this sign-in, or more than 10 minutes ago.';
const TWICE = 'This sign-in has ended already.';
