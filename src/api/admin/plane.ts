/** The admin plane: every route needs an admin token and its role, every body is validated. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import { isRepeated } from '../../lib/field-faults.js';
import { JsonError, parseJson } from '../../reports/rows/json.js';
import { StoreUnavailable } from '../../store/port.js';
import { type Durability, noteDurability } from '../../store/registry/durability.js';
import { RegistryLost } from '../../store/registry/succession.js';
import { type Actor, GATEWAY_ACTOR } from '../../telemetry/audit.js';
import { type Admin, type AdminAuth, authenticateAdmin } from './authenticate-admin.js';

/**
 * Adds the member `unconfirmed` to answers to changes that too few Redis replicas have confirmed. An answer without a
 * body becomes a 200 with it.
 */
function reportUnconfirmed(scope: FastifyInstance): void {
  const noted = new WeakMap<FastifyRequest, Durability>();
  // The last hook before the handler: reading a body loses the async context.
  scope.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'GET' || request.method === 'HEAD') return done();
    const durability: Durability = { unconfirmed: null };
    noted.set(request, durability);
    const end = noteDurability(durability, done);
    reply.raw.once('close', end);
  });
  scope.addHook('onSend', async (request, reply, payload) => {
    const unconfirmed = noted.get(request)?.unconfirmed ?? null;
    if (unconfirmed === null || reply.statusCode >= 300) return payload;
    const isEmpty = payload === undefined || payload === null || payload === '';
    if (!isEmpty && typeof payload !== 'string') return payload;
    const body = isEmpty ? {} : (JSON.parse(payload) as object);
    if (isEmpty) reply.code(200);
    const text = JSON.stringify({ ...body, unconfirmed });
    reply.header('content-type', 'application/json; charset=utf-8').removeHeader('content-length');
    return text;
  });
}

/**
 * Opens a scope on `app` in which routes require an admin token with their role.
 * @param routes registers the routes
 * @param onBearer told of each call with a token
 */
export async function registerAdminPlane(
  app: FastifyInstance,
  auth: AdminAuth,
  routes: (scope: FastifyInstance) => void,
  onBearer: (request: FastifyRequest) => Promise<void> = async () => {},
): Promise<void> {
  app.decorateRequest('actor', null as unknown as Actor);
  app.decorateRequest('caller', null as unknown as Admin);
  app.decorateRequest('session', null);
  app.addHook('onRequest', async (request) => {
    request.actor = GATEWAY_ACTOR;
  });
  await app.register(async (scope) => {
    // Fastify also reads text/plain, as text.
    scope.removeContentTypeParser(['application/json', 'text/plain']);
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, parseBody);
    scope.addHook('onRequest', async (request) => {
      if (request.routeOptions.config.isOpen === true) return;
      await authenticateAdmin(request, auth);
      if (request.session === null) await onBearer(request);
    });
    // Leaves nothing in the browser's cache for the next user.
    scope.addHook('onSend', async (_request, reply) => void reply.header('cache-control', 'no-store'));
    // A POST without a body counts as an empty object: all members of such bodies are optional.
    scope.addHook('preValidation', async (request) => {
      request.body ??= {};
    });
    reportUnconfirmed(scope);
    scope.setErrorHandler((error, { method }) => {
      throw error instanceof StoreUnavailable
        ? storeAway(error, method === 'GET' || method === 'HEAD')
        : error;
    });
    routes(scope);
  });
}

/** The outcome of a change is unknown unless the store refused it. */
function storeAway(cause: StoreUnavailable, isRead: boolean): GatewayError {
  if (cause.why === 'no-room') {
    return new GatewayError('not_ready', {
      detail: 'The store is full (Redis: memory; embedded store: disk), so the change was not made.',
      help: "Raise Redis's maxmemory or free disk space, then repeat.",
      retryAfterS: 30,
      cause,
    });
  }
  const words =
    cause instanceof RegistryLost
      ? { detail: `Nothing was changed: ${cause.message}.` }
      : isRead
        ? {
            detail:
              'The store (Redis, or the disk of the embedded store) cannot be reached, so this cannot be read.',
            help: 'Repeat after 5 s; `dsp-gateway status` shows what is wrong.',
          }
        : {
            detail: 'The store cannot be reached; the change may or may not have been made.',
            help: 'Check the current state in a few seconds, and repeat the change if it is missing.',
          };
  return new GatewayError('not_ready', { ...words, retryAfterS: 5, cause });
}

/** Strict: duplicate members are refused, because reviewers of the request may have read the other one. */
function parseBody(
  _request: FastifyRequest,
  bytes: string | Buffer,
  done: (error: Error | null, body?: unknown) => void,
): void {
  try {
    const text = typeof bytes === 'string' ? bytes : UTF8.decode(bytes);
    if (text !== '') parseJson(text, { maxDepth: MAX_DEPTH });
    done(null, text === '' ? {} : JSON.parse(text));
  } catch (error) {
    done(refusedBody(error as Error));
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const MAX_DEPTH = 64;

function refusedBody(cause: Error): GatewayError {
  const param = cause instanceof JsonError && cause.isDuplicate ? cause.path.join('.') : null;
  const detail = cause instanceof TypeError ? 'The body is not UTF-8.' : 'The body is not JSON.';
  return new GatewayError('invalid_body', {
    status: 422,
    ...(param === null ? { detail } : { errors: [isRepeated(param)] }),
    cause,
  });
}
