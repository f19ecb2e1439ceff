/** `dsp-gateway login`, `logout`, `whoami` and `sessions`: people with a company account, and who is signed in. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Type from 'typebox';
import type { AnswerOf } from '../api/operations/operation.js';
import {
  closeSession,
  getCaller,
  listSessions,
  revokeSession,
  revokeSessionsOfPerson,
} from '../api/operations/session.js';
import { isLoopback } from '../config/sign-in-settings.js';
import { randomBuffer } from '../lib/chance.js';
import { challengeOf, commandCode } from '../lib/command-code.js';
import { recordForm } from '../lib/record.js';
import { timeoutSignal } from '../lib/time.js';
import { call, steps } from './call-command.js';
import { ADMIN_PLANE, type ClientOptions, LOGIN, openPlane } from './client.js';
import { CommandError, EXIT, Unreachable } from './command-error.js';
import { command, group, show } from './define.js';
import { readId } from './flags.js';
import { SavedSession, savedSession, saveSession, sessionFile } from './session-file.js';
import { counted, until } from './span.js';
import { renderFields, renderRows } from './table.js';
import type { Terminal } from './terminal.js';

type OpenSession = AnswerOf<typeof listSessions>['sessions'][number];

/** As long as an attempt lasts at the gateway. */
const WAIT_MS = 600_000;

const Ways = recordForm(Type.Object({ company: Type.Boolean() }));
const Issued = recordForm(Type.Intersect([SavedSession, Type.Object({ role: Type.String() })]));

export const addLoginCommand = command<ClientOptions & { readonly browser: boolean }>({
  name: 'login',
  plane: ADMIN_PLANE,
  description: 'Sign in with your company account; commands then act as you, for 8 hours at most.',
  examples: ['login', 'login --url https://gateway.company.example', 'login --no-browser'],
  own: (added) => added.option('--no-browser', 'only show the address to open'),
  async run({ options, terminal }) {
    const client = openPlane(ADMIN_PLANE, options, terminal.env, null);
    const ways = Ways.parse(await client.ask({ method: 'GET', path: '/auth/ways' }));
    if (ways?.company !== true)
      throw new CommandError(
        `nobody signs in at ${client.base} with a company account: it has no auth.oidc.adminPublicUrl. Use an admin token.`,
        EXIT.denied,
      );
    const verifier = randomBuffer(32).toString('base64url');
    const challenge = challengeOf(verifier);
    const { code, from } = await answerOfBrowser(terminal, options.browser, client.base, challenge);
    // Else another gateway could pass the page of this one on, and use what the person says yes to.
    if (from !== new URL(client.base).origin && !isLoopback(client.base))
      throw new CommandError(
        `you signed in at ${from ?? 'an unknown address'}, and this command asks ${client.base}; use: dsp-gateway login --url ${from ?? '<address of the console>'}`,
        EXIT.denied,
      );
    const text = await client.ask({ method: 'POST', path: '/auth/cli/exchange', body: { code, verifier } });
    const issued = Issued.parse(text);
    if (issued === null) throw new CommandError('the gateway gave no session', EXIT.unavailable);
    const { token, name, expiresAt, role } = issued;
    saveSession(client.base, { token, name, expiresAt }, terminal.env);
    const file = sessionFile(client.base, terminal.env);
    show(terminal, options, { name, role, expiresAt, file }, () =>
      renderFields([
        ['signed in as', name],
        ['role', role],
        ['until', until(expiresAt, terminal.nowMs())],
        ['session kept in', file],
      ]),
    );
  },
});

/** What the browser brings back from the gateway's page. */
interface Answered {
  readonly code: string;
  /** The gateway that gave the code: `iss` (RFC 9207). */
  readonly from: string | null;
}

/** Listens on this machine for the browser that comes back from the gateway's page. @throws CommandError */
async function answerOfBrowser(
  terminal: Terminal,
  opens: boolean,
  base: string,
  challenge: string,
): Promise<Answered> {
  const server = createServer();
  try {
    return await new Promise<Answered>((resolve, reject) => {
      server.on('request', (request, response) => {
        // Any page and program of this machine may ask here, also for what is no address.
        const [, query = ''] = (request.url ?? '').split('?');
        const given = new URLSearchParams(query);
        const code = given.get('code');
        const isOurs = given.get('challenge') === challenge && (code !== null || given.has('no'));
        if (!isOurs) return void response.writeHead(404).end();
        response.once('close', () =>
          code === null
            ? reject(new CommandError(SAID_NO, EXIT.denied))
            : resolve({ code, from: given.get('iss') }),
        );
        answer(response, code === null ? 'Nothing was done.' : 'Go back to your terminal.');
      });
      timeoutSignal(WAIT_MS).addEventListener('abort', () =>
        reject(new CommandError('nobody signed in for 10 minutes; nothing was done', EXIT.unavailable)),
      );
      server.once('error', reject).listen(0, '127.0.0.1', () => {
        const { port } = server.address() as AddressInfo;
        const page = `${base}/auth/cli?${new URLSearchParams({ port: String(port), challenge })}`;
        terminal.say(`Sign in here, with a browser on this machine:\n\n  ${page}\n\n`);
        terminal.say(
          `The page asks about a command with the code ${commandCode(challenge)}. Waiting; Ctrl-C ends it.\n`,
        );
        if (opens) terminal.browse?.(page);
      });
    });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

const SAID_NO = 'you said no in the browser; nothing was done';

function answer(response: ServerResponse, words: string): void {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>dsp-gateway</title><style>:root{color-scheme:light dark}body{font:16px/1.6 system-ui,sans-serif;margin:3rem}</style><h1>${words}</h1><p>You can close this page.</p></html>`;
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'close',
  };
  response.writeHead(200, headers).end(html);
}

export const addLogoutCommand = command<ClientOptions>({
  name: 'logout',
  plane: ADMIN_PLANE,
  description: 'End the session of login, at the gateway and here.',
  examples: ['logout'],
  async run({ options, terminal }) {
    const { base } = openPlane(ADMIN_PLANE, options, terminal.env, null);
    const session = savedSession(base, terminal.env);
    if (session === null) {
      show(terminal, options, { ended: false }, () => `There is no session at ${base}.\n`);
      return;
    }
    const client = openPlane(ADMIN_PLANE, options, terminal.env, { text: session.token, source: LOGIN });
    const [method = '', path = ''] = closeSession.call.split(' ');
    const fault = await client.ask({ method, path }).then(
      () => null,
      (error: unknown) => {
        // 401: it has ended already.
        if (!(error instanceof CommandError)) throw error;
        return error.exitCode === EXIT.denied ? null : error;
      },
    );
    saveSession(base, null, terminal.env);
    if (fault instanceof Unreachable)
      terminal.say(
        `The gateway was not reached: the session ends there by itself, ${until(session.expiresAt, terminal.nowMs())}.\n`,
      );
    else if (fault !== null) throw fault;
    show(terminal, options, { ended: true }, () => `Signed out: ${session.name}\n`);
  },
});

export const addWhoamiCommand = call({
  name: 'whoami',
  operation: getCaller,
  description: 'Show as whom commands act, and with which role.',
  examples: ['whoami'],
  render: ({ name, role, by, expiresAt }, { terminal }) =>
    renderFields([
      ['name', name],
      ['role', role],
      ['by', by === 'token' ? 'an admin token' : LOGIN],
      ['until', expiresAt === null ? 'no end' : until(expiresAt, terminal.nowMs())],
    ]),
});

export const addSessionsCommands = group(
  'sessions',
  'Who is signed in to console, explorer and command line.',
  call({
    name: 'list',
    operation: listSessions,
    description: 'List the open sessions, the latest use first.',
    examples: ['sessions list', "sessions list --json | jq -r '.[].holder'"],
    json: ({ sessions }) => sessions,
    render: ({ sessions }, { terminal }) => describeSessions(sessions, terminal.nowMs()),
  }),
  steps({
    name: 'revoke',
    operation: revokeSession,
    description: 'End a session, or all sessions of a person.',
    examples: ['sessions revoke ses_Qh2kR0vVt1aYw3Bf', 'sessions revoke person_3f0c2a9b7d1e4f5a6b7c8d9e'],
    args: { id: ['<session|person>', 'id of a session (ses_…) or of a person (person_…)', readId] },
    async run({ values, admin, send, terminal, options }) {
      const id = String(values.id);
      const ofPerson = id.startsWith('person_');
      const revoked = ofPerson ? (await admin.ask(revokeSessionsOfPerson, { id })).revoked : 1;
      if (!ofPerson) await send(values);
      show(terminal, options, { revoked }, () => `ended: ${counted(revoked, 'session')}\n`);
    },
  }),
);

function describeSessions(sessions: readonly OpenSession[], nowMs: number): string {
  if (sessions.length === 0) return 'Nobody is signed in.\n';
  return renderRows(sessions, [
    ['session', 'id'],
    ['who', ({ name, holder }) => (name === null ? holder : `${name} (${holder})`)],
    ['use', ({ use, team }) => (team === null ? use : `${use} as ${team}`)],
    ['since', ({ since }) => until(since, nowMs)],
    ['last use', ({ lastUsedAt }) => until(lastUsedAt, nowMs)],
    ['ends', ({ expiresAt }) => until(expiresAt, nowMs)],
    ['yours', ({ isYours }) => (isYours ? 'this command' : null)],
  ]);
}
