/** 404 and 405: the methods of an address, or a similar address. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { CATALOGUE } from '../../errors/catalogue.js';
import { GatewayError } from '../../errors.js';
import { nearName } from '../../lib/near-name.js';

export const REPORTS = '/api/v1/report/';
/** Longer paths get no suggestion. */
const LONGEST = 120;

/**
 * @param known addresses of this plane, without wildcards
 * @returns a similar address
 */
export function nearPath(path: string, known: readonly string[]): string | undefined {
  const plain = path.toLowerCase().replace(/\/+$/, '');
  if (plain === '') return undefined;
  const bare = plain.replace(/^\/(?:gateway|admin|api)(?:\/v\d+)?(?=\/)/, '');
  return (
    known.find((one) => one.toLowerCase() === plain) ??
    // Without its beginning: `/me`, `/v1/me`.
    known.find((one) => one.endsWith(plain)) ??
    // With another version or none: `/gateway/v2/me`, `/gateway/me`.
    known.find((one) => withoutVersion(one) === withoutVersion(plain)) ??
    // Of another prefix: `/gateway/v1/docs`, `/api/v1/health`.
    known.find((one) => one === bare) ??
    OTHER_NAMES.find(([pattern, to]) => pattern.test(bare) && known.includes(to))?.[1] ??
    nearName(plain, known)
  );
}

/** @returns the address of a report whose prefix was omitted or misspelt */
export function nearReport(path: string): string | undefined {
  if (path.length > LONGEST) return undefined;
  const found = /^(?:\/api)?(?:\/v\d+)?\/reports?\/(.+?)\/*$/i.exec(path)?.[1];
  return found === undefined ? undefined : REPORTS + found;
}

function withoutVersion(path: string): string {
  return path.replace(/\/v\d+(?=\/)/, '');
}

const OTHER_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^\/(v\d\/)?(swagger|openapi|api-?docs?)\.(json|ya?ml)$/, '/openapi.json'],
  [/^\/(swagger|openapi|api-?docs?|docs?|documentation|redoc|help)\b/, '/docs'],
  [/^\/(health|health-?check|live|livez|ping)$/, '/healthz'],
  [/^\/(ready|readiness)$/, '/readyz'],
  [/^\/errors?\b/, '/docs/errors'],
];

interface KnownRoute {
  readonly url: string;
  readonly methods: readonly string[];
}

/** To be called before the routes are registered. */
export function createNotFound(app: FastifyInstance): (request: FastifyRequest) => GatewayError {
  const routes: KnownRoute[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    // Skip wildcards: they stand for many addresses.
    if (!url.includes('*')) routes.push({ url, methods: [method].flat() });
  });
  return ({ url, method }) => {
    const path = url.split('?', 1)[0] as string;
    const methods = routes
      .filter((route) => patternOf(route.url).test(path))
      .flatMap((route) => route.methods);
    const isOther = methods.length > 0 && !methods.includes(method);
    return isOther ? wrongMethod([...new Set(methods)].sort()) : nothingAt(path, suggested(routes));
  };
}

function patternOf(url: string): RegExp {
  return new RegExp(`^${url.replace(/[.?+^$()[\]{}|\\]/g, '\\$&').replace(/:[^/]+/g, '[^/]+')}$`);
}

/** Candidates for suggestions: plain addresses, without the files of a page. */
function suggested(routes: readonly KnownRoute[]): string[] {
  return routes
    .filter(({ url, methods }) => methods.includes('GET') && !/:|\/static\/|.\/$/.test(url))
    .map(({ url }) => url);
}

export function wrongMethod(methods: readonly string[]): GatewayError {
  const allow = methods.join(', ');
  return new GatewayError('method_not_allowed', {
    detail: `This address supports ${allow}.`,
    headers: { allow },
  });
}

/** The caller may have no key, so suggestions depend on the address alone. */
function nothingAt(path: string, known: readonly string[]): GatewayError {
  // The metrics plane has so few that all are named.
  if (!known.includes('/docs')) return new GatewayError('not_found', { help: `Use ${known.join(', ')}.` });
  // Only the data plane has reports.
  const isDataPlane = known.includes('/gateway/v1/me');
  const near = nearPath(path, known) ?? (isDataPlane ? nearReport(path) : undefined);
  if (near === undefined) return new GatewayError('not_found');
  return new GatewayError('not_found', {
    detail: `${CATALOGUE.not_found.meaning.slice(0, -1)}; did you mean ${near}?`,
    help: `Use ${near}, or see /docs for all addresses.`,
  });
}
