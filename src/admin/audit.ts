/** The audit trail, newest first. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { GatewayError } from '../errors.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import type { Store } from '../store/port.js';
import { AuditRecord } from '../telemetry/audit.js';

const MAX_LIMIT = 1000;

/** Ids of entries, by the kind of store that gives them. */
const IDS: Readonly<Record<Store['kind'], RegExp>> = {
  embedded: /^\d{1,15}$/,
  redis: /^\d{1,20}-\d{1,20}$/,
};

const Entry = Type.Object(
  { id: Type.String(), ...AuditRecord.schema.properties },
  { title: 'AuditEntry', description: 'Without secrets.' },
);

const OPERATION: Operation = {
  id: 'listAudit',
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_LIMIT, description: 'How many; 100 when not given.' }),
    ),
    before: Type.Optional(Type.String({ description: 'The id of an entry: those before it.' })),
  }),
  answers: { 200: json(Type.Object({ entries: Type.Array(Entry) }), 'Entries, newest first.') },
  problems: ['invalid_query', 'not_ready'],
};

export function registerAudit(
  app: FastifyInstance,
  { kind, registry }: Pick<Store, 'kind' | 'registry'>,
): void {
  app.get(
    '/admin/v1/audit',
    shownAs('audit', 'Who changed what, newest first', OPERATION),
    async (request) => {
      const { limit = '100', before } = request.query as { limit?: string; before?: unknown };
      if (!/^[1-9][0-9]{0,3}$/.test(limit) || Number(limit) > MAX_LIMIT) {
        throw new GatewayError('invalid_query', {
          errors: [{ param: 'limit', message: `must be a whole number from 1 to ${MAX_LIMIT}` }],
        });
      }
      if (before !== undefined && (typeof before !== 'string' || !IDS[kind].test(before))) {
        throw new GatewayError('invalid_query', {
          errors: [{ param: 'before', message: 'must be the id of an entry, as this list gives it, once' }],
        });
      }
      const lines = await registry.readAudit(Number(limit), before);
      return { entries: lines.map(({ id, text }) => ({ id, ...AuditRecord.read(text, `audit/${id}`) })) };
    },
  );
}
