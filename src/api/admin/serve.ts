/** Registers the admin operations as routes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { readQuery } from '../http/read-query.js';
import { type AdminOperation, describeOperation, type RequestTypes } from '../operations/operation.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Admin plane: needs no token. */
    readonly isOpen?: true;
  }
}

const NO_QUERY = Type.Object({});

/**
 * Registers the route of an operation.
 * @param handle gets the validated query and body; returns the answer
 */
export function serve<O extends AdminOperation>(
  app: FastifyInstance,
  operation: O,
  handle: (request: FastifyRequest<RequestTypes<O>>, reply: FastifyReply) => Promise<unknown>,
): void {
  const [method = '', url = ''] = operation.call.split(' ');
  const { tag, summary, query, body, bodyLimit, isOpen, status = 200 } = operation;
  app.route<RequestTypes<O>>({
    method,
    url,
    schema: { tags: [tag], summary, ...(body && { body }), ...(isOpen && { security: [] }) },
    config: { operation: describeOperation(operation), ...(isOpen && { isOpen }) },
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    async handler(request, reply) {
      request.query = readQuery(query ?? NO_QUERY, request.query as object) as never;
      reply.code(status);
      return await handle(request as FastifyRequest<RequestTypes<O>>, reply);
    },
  });
}
