/** Answers to changes that too few replicas of Redis have confirmed say so: they are made, and could be lost. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Durability, noteDurability } from '../../store/registry/durability.js';

/** Adds the member `unconfirmed` to such answers; one without a body becomes a 200 that has it. */
export function sayUnconfirmed(scope: FastifyInstance): void {
  const noted = new WeakMap<FastifyRequest, Durability>();
  // The last hook before the handler: what reads a body leaves the context behind.
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
