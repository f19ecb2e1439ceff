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
import { checkPlace, HIDDEN, sendOn, sendPage } from './pages.js';

export interface CommandLineOptions {
  /** Of the console. */
  readonly sessions: Sessions;
  readonly commandLine: Sessions;
  readonly services: Services;
}

const CODE_LASTS_MS = 60_000;
const MAX_BODY_BYTES = 4096;

const Given = recordForm(
  Type.Object({
    holder: Type.String(),
    challenge: Type.String(),
    atMs: Type.Number(),
    /** The session of the console that said yes: whoever ends it before the exchange ends this too. */
    session: Type.String(),
    /** When the person signed in. */
    sinceMs: Type.Number(),
  }),
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
    // The session's cookie belongs to the console's own address. A proxy that changes the host would send it in a circle.
    if (request.host !== own.host && (request.query as Members).moved === undefined)
      return reply.redirect(`${own.origin}${request.url}&moved=1`, 302);
    checkPlace(request, own);
    const signedIn = await signedInTo(request, options, '');
    if (signedIn === null) return reply.redirect(`/auth/login?to=${encodeURIComponent(request.url)}`, 302);
    const { person, session } = signedIn;
    const lines = [
      `The command with the code ${commandCode(asked.challenge)} asks to act as ${person.name}, with the role ${person.grant.admin}, until ${timeOf(session.endsAtMs)}.`,
      'Say yes only if you have just run dsp-gateway login yourself, and it shows the same code.',
    ];
    const hidden = { ...asked, csrf: session.csrf };
    const question = { action: '/auth/cli', hidden, yes: 'Yes, let it act as me' };
    const no = wayBack(asked, own, { no: '1' });
    // The page posts to itself and needs its origin for that, which `no-referrer` would hide.
    reply.header('referrer-policy', 'same-origin');
    return sendPage(reply, 200, 'Let the command line act as you?', lines, ['No', no], question);
  });

  app.post('/auth/cli', HIDDEN, async (request, reply) => {
    const body = bodyOf(request);
    const asked = askedIn(body);
    const { person, session } = (await signedInTo(request, options, body.csrf ?? '')) ?? refuse(ENDED);
    const code = randomBuffer(32).toString('base64url');
    const { document, sinceMs } = session;
    const given: Given = {
      ...{ holder: person.id, challenge: asked.challenge, atMs: clock.now() },
      ...{ session: document, sinceMs },
    };
    await store.documents.create(documentOf(code), JSON.stringify(given), 2 * CODE_LASTS_MS);
    return sendOn(reply, wayBack(asked, own, { code }), 'The command goes on', 'Go back to your terminal.');
  });

  app.post('/auth/cli/exchange', HIDDEN, async (request, reply) => {
    const { code = '', verifier = '' } = bodyOf(request);
    const { person, sinceMs } = await takeCode(code, verifier, services);
    request.trace.person = whoOf(person);
    const session = await open(person, sinceMs, request, options);
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
): Promise<{ readonly person: Person; readonly sinceMs: number }> {
  const document = documentOf(code);
  const text = await store.documents.get(document);
  // Whatever comes of it, this code has been used.
  const isMine = text !== null && (await store.documents.replace(document, text, null, 1));
  const given = isMine ? Given.parse(text) : null;
  if (given === null || Math.abs(clock.now() - given.atMs) > CODE_LASTS_MS)
    refuse('The code is unknown, has been used, or is older than a minute.');
  if (challengeOf(verifier) !== given.challenge) refuse('Another command has asked for this code.');
  if ((await store.documents.get(given.session)) === null) refuse(ENDED);
  return { person: withRole(given.holder, persons) ?? refuse(ENDED), sinceMs: given.sinceMs };
}

function open(
  person: Person,
  sinceMs: number,
  request: FastifyRequest,
  { commandLine, services }: CommandLineOptions,
): Promise<Session> {
  const event = {
    action: 'session.open',
    subject: person.id,
    after: { plane: 'admin', use: 'command line' },
  };
  return commandLine.open(
    { holder: person.id, proof: person.id, isPerson: true, byHeader: true, sinceMs },
    { host: '', ownOrigin: '' },
    () => noteEvent(services, event, actorOf(person, request.ip)),
  );
}

/** Who is signed in to the console. @returns null: nobody with a company account and a role. @throws GatewayError `session_forbidden` */
async function signedInTo(
  request: FastifyRequest,
  { sessions, services: { persons } }: CommandLineOptions,
  csrf: string,
): Promise<{ readonly person: Person; readonly session: Session } | null> {
  const session = await judgeSession({ ...arrivalOf(request), csrf }, sessions).catch((error: unknown) => {
    if (error instanceof GatewayError && error.code === 'invalid_session') return null;
    throw error;
  });
  const person = session?.isPerson === true ? withRole(session.holder, persons) : null;
  return session && person && { person, session };
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

/**
 * To the command on the person's machine, which takes it only with its own challenge, as other pages can open this address
 * too, and from the gateway that it asked: `iss` (RFC 9207) keeps another one from passing our page on.
 */
function wayBack({ port, challenge }: Asked, own: URL, answer: Readonly<Record<string, string>>): string {
  return `http://127.0.0.1:${port}/?${new URLSearchParams({ ...answer, challenge, iss: own.origin })}`;
}

const timeOf = (ms: number) => `${new Date(ms).toISOString().slice(11, 16)} UTC`;

/** Where the command listens, and the challenge of its verifier. */
interface Asked {
  readonly port: string;
  readonly challenge: string;
}

/** @throws GatewayError `sign_in_failed` */
function askedIn(given: unknown): Asked {
  const { port = '', challenge = '' } = given as Members;
  if (/^[1-9]\d{3,4}$/.test(port) && Number(port) <= 65_535 && /^[A-Za-z0-9_-]{43}$/.test(challenge))
    return { port, challenge };
  return refuse('This page is opened by the command dsp-gateway login, with its port and challenge.');
}

function refuse(detail: string): never {
  throw new GatewayError('sign_in_failed', { detail, help: 'Run dsp-gateway login again.' });
}

const ENDED = 'Your session has ended, or your account has no role here any more.';
