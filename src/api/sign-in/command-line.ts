/**
 * The command line acts as a person: a page of the console's host asks him, and a code of one use comes to the command,
 * which proves by its verifier (RFC 7636) that it is the one that asked.
 */
import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { randomBuffer } from '../../lib/chance.js';
import { challengeOf, commandCode } from '../../lib/command-code.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Services } from '../../server/services.js';
import { arrivalOf, judgeSession } from '../../teams/sessions/browser-request.js';
import { commandLineToken, type Session, type Sessions } from '../../teams/sessions/sessions.js';
import { actorOf, type Person, type Persons, whoOf } from '../../teams/sign-in/persons.js';
import { noteEvent } from '../../telemetry/audit.js';
import { HIDDEN, sendOn, sendPage } from './pages.js';

export interface CommandLineOptions {
  /** Of the console. */
  readonly sessions: Sessions;
  readonly commandLine: Sessions;
  readonly services: Services;
}

const CODE_LASTS_MS = 60_000;
const MAX_BODY_BYTES = 4096;

const Given = recordForm(
  Type.Object({ holder: Type.String(), challenge: Type.String(), atMs: Type.Number() }),
);
type Given = RecordOf<typeof Given>;

/** @param own address of the console in browsers */
export function registerCommandLine(app: FastifyInstance, own: URL, options: CommandLineOptions): void {
  const { services } = options;
  const { store, clock } = services;
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: MAX_BODY_BYTES },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );

  app.get('/auth/cli', HIDDEN, async (request, reply) => {
    const asked = askedIn(request.query);
    // The session's cookie belongs to the console's own address.
    if (request.host !== own.host) return reply.redirect(own.origin + request.url, 302);
    const signedIn = await signedInTo(request, options, '');
    if (signedIn === null) return reply.redirect(`/auth/login?to=${encodeURIComponent(request.url)}`, 302);
    const { person, csrf } = signedIn;
    const lines = [
      `The command with the code ${commandCode(asked.challenge)} asks to act as ${person.name}, with the role ${person.grant.admin}, for 8 hours.`,
      'Say yes only if you have just run dsp-gateway login yourself, and it shows the same code.',
    ];
    const question = { action: '/auth/cli', hidden: { ...asked, csrf }, yes: 'Yes, let it act as me' };
    const no = `http://127.0.0.1:${asked.port}/?no=1`;
    // The page posts to itself and needs its origin for that, which `no-referrer` would hide.
    reply.header('referrer-policy', 'same-origin');
    return sendPage(reply, 200, 'Let the command line act as you?', lines, ['No', no], question);
  });

  app.post('/auth/cli', HIDDEN, async (request, reply) => {
    const body = bodyOf(request);
    const asked = askedIn(body);
    const { person } = (await signedInTo(request, options, body.csrf ?? '')) ?? refuse(ENDED);
    const code = randomBuffer(32).toString('base64url');
    const given: Given = { holder: person.id, challenge: asked.challenge, atMs: clock.now() };
    await store.documents.create(documentOf(code), JSON.stringify(given), 2 * CODE_LASTS_MS);
    const back = `http://127.0.0.1:${asked.port}/?code=${code}`;
    return sendOn(reply, back, 'The command goes on', 'Go back to your terminal.');
  });

  app.post('/auth/cli/exchange', HIDDEN, async (request, reply) => {
    const { code = '', verifier = '' } = bodyOf(request);
    const person = await takeCode(code, verifier, services);
    request.trace.person = whoOf(person);
    const session = await open(person, request, options);
    return reply
      .code(201)
      .header('cache-control', 'no-store')
      .send({
        token: commandLineToken(session),
        name: person.name,
        role: person.grant.admin,
        expiresAt: new Date(session.endsAtMs).toISOString(),
      });
  });
}

const documentOf = (code: string) => `sign-in-cli:${hash('sha256', code, 'base64url')}`;

/** @throws GatewayError `sign_in_failed` */
async function takeCode(
  code: string,
  verifier: string,
  { store, clock, persons }: Services,
): Promise<Person> {
  const document = documentOf(code);
  const text = await store.documents.get(document);
  // Whatever comes of it, this code has been used.
  const isMine = text !== null && (await store.documents.replace(document, text, null, 1));
  const given = isMine ? Given.parse(text) : null;
  if (given === null || Math.abs(clock.now() - given.atMs) > CODE_LASTS_MS)
    refuse('The code is unknown, has been used, or is older than a minute.');
  if (challengeOf(verifier) !== given.challenge) refuse('Another command has asked for this code.');
  return withRole(given.holder, persons) ?? refuse(ENDED);
}

function open(
  person: Person,
  request: FastifyRequest,
  { commandLine, services }: CommandLineOptions,
): Promise<Session> {
  const event = {
    action: 'session.open',
    subject: person.id,
    after: { plane: 'admin', use: 'command line' },
  };
  return commandLine.open(
    { holder: person.id, proof: person.id, isPerson: true, byHeader: true },
    { host: '', ownOrigin: '' },
    () => noteEvent(services, event, actorOf(person, request.ip)),
  );
}

/** Who is signed in to the console. @returns null: nobody with a company account and a role. @throws GatewayError `session_forbidden` */
async function signedInTo(
  request: FastifyRequest,
  { sessions, services: { persons } }: CommandLineOptions,
  csrf: string,
): Promise<{ readonly person: Person; readonly csrf: string } | null> {
  const session = await judgeSession({ ...arrivalOf(request), csrf }, sessions).catch((error: unknown) => {
    if (error instanceof GatewayError && error.code === 'invalid_session') return null;
    throw error;
  });
  const person = session?.isPerson === true ? withRole(session.holder, persons) : null;
  return session && person && { person, csrf: session.csrf };
}

function withRole(id: string, persons: Persons): Person | null {
  const person = persons.find(id);
  return person !== null && person.grant.admin !== null ? person : null;
}

type Members = Readonly<Record<string, string | undefined>>;

/** Members that are texts. */
function bodyOf({ body }: FastifyRequest): Members {
  const texts = Object.entries(body ?? {}).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(texts) as Members;
}

/** Where the command listens, and the challenge of its verifier. @throws GatewayError `sign_in_failed` */
function askedIn(given: unknown): { readonly port: string; readonly challenge: string } {
  const { port = '', challenge = '' } = given as Members;
  if (/^[1-9]\d{3,4}$/.test(port) && Number(port) <= 65_535 && /^[A-Za-z0-9_-]{43}$/.test(challenge))
    return { port, challenge };
  return refuse('This page is opened by the command dsp-gateway login, with its port and challenge.');
}

function refuse(detail: string): never {
  throw new GatewayError('sign_in_failed', { detail, help: 'Run dsp-gateway login again.' });
}

const ENDED = 'Your session has ended, or your account has no role here any more.';
