/** The few pages of a sign-in, without scripts: most of the time nobody sees them. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asGatewayError, GatewayError } from '../../errors.js';
import { toProblem } from '../../lib/http/problem.js';
import { StoreUnavailable } from '../../store/port.js';
import { noteProblem } from '../http/problem-reply.js';
import type { Account } from './attempts.js';

/** Not in the OpenAPI description. */
export const HIDDEN = { schema: { hide: true } };

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

declare module 'fastify' {
  interface FastifyRequest {
    /** How the page of a failed sign-in begins another one. */
    again: { readonly to?: string; readonly account?: Account };
  }
}

/** All answers of a scope get the headers of its pages; browsers get problems as pages. */
export function registerPageErrors(scope: FastifyInstance): void {
  scope.decorateRequest('again', null as never);
  scope.addHook('onRequest', async (request, reply) => {
    request.again = {};
    reply.headers(HEADERS);
  });
  scope.setErrorHandler((thrown: FastifyError, request, reply) => {
    const isAway = thrown instanceof StoreUnavailable;
    const error = isAway ? new GatewayError('not_ready', { retryAfterS: 5, cause: thrown }) : thrown;
    const wantsPage = request.method === 'GET' && request.headers.accept?.includes('text/html') === true;
    if (!wantsPage) throw error;
    const known = asGatewayError(error);
    noteProblem(request.trace, known);
    const { title, detail, help, code } = toProblem(known, request.id);
    const account = code === 'no_access' ? 'choose' : request.again.account;
    const label = account === undefined ? 'Sign in again' : 'Sign in with another account';
    const query = `${new URLSearchParams({ ...request.again, ...(account && { account }) })}`;
    const address = `/auth/login${query === '' ? '' : `?${query}`}`;
    const lines = [detail, help, `${code}, request ${request.id}`];
    return sendPage(reply, known.status, title, lines, [label, address]);
  });
}

/** A question: a form, beside a link for the answer no. */
interface Question {
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly yes: string;
}

/** @param link where to go on, or where the answer no leads, below its label */
export function sendPage(
  reply: FastifyReply,
  status: number,
  title: string,
  lines: readonly (string | undefined)[],
  [label, address]: readonly [label: string, address: string],
  question?: Question,
): FastifyReply {
  const paragraphs = lines.flatMap((line) => (line === undefined ? [] : `<p>${escaped(line)}</p>`)).join('');
  const form = question === undefined ? '' : formOf(question);
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)} · dsp-gateway</title><style>${STYLE}</style><main><h1>${escaped(title)}</h1>${paragraphs}${form}<p><a href="${escaped(address)}">${label}</a></p></main></html>`;
  return reply.code(status).type('text/html; charset=utf-8').send(html);
}

/** A page that goes on by itself. Not a redirect: after one from another site a browser would not send the strict cookie. */
export function sendOn(reply: FastifyReply, to: string, title: string, ...lines: string[]): FastifyReply {
  return sendPage(reply.header('refresh', `0;url=${to}`), 200, title, lines, ['Go on', to]);
}

function formOf({ action, hidden, yes }: Question): string {
  const inputs = Object.entries(hidden).map(
    ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  );
  return `<form method="post" action="${escaped(action)}">${inputs.join('')}<button>${escaped(yes)}</button></form>`;
}

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.6 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;overflow-wrap:anywhere;color:light-dark(#1c2530,#dfe6ee);background:light-dark(#fff,#12171d)}a{color:light-dark(#0b5cad,#7db7f5)}button{font:inherit;padding:.5rem 1rem;border:0;border-radius:.4rem;color:#fff;background:#0b5cad}';

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => ENTITIES[char] as string);
}

/** @throws GatewayError `sign_in_failed` where the callback would not find its cookie, and inside of another page */
export function checkPlace({ host, headers }: FastifyRequest, own: URL): void {
  const detail =
    (headers['sec-fetch-dest'] ?? 'document') !== 'document'
      ? 'A sign-in is a page of its own, not a part of another one.'
      : host !== own.host
        ? `Sign in at ${own.origin}; this request names another host.`
        : null;
  if (detail === null) return;
  throw new GatewayError('sign_in_failed', {
    detail,
    help: `Open ${own.origin}; a proxy that changes the host must be in server.trustedProxies and send x-forwarded-host.`,
  });
}
