/** The audit trail, newest first. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../errors.js';
import type { RegistryStore } from '../store/port.js';
import type { AuditRecord } from '../telemetry/audit.js';

const MAX_LIMIT = 1000;

export function registerAudit(app: FastifyInstance, registry: RegistryStore): void {
  app.get(
    '/admin/v1/audit',
    { schema: { tags: ['audit'], summary: 'Who changed what: ?limit (100) and ?before (an id)' } },
    async (request) => {
      const { limit = '100', before } = request.query as { limit?: string; before?: unknown };
      if (!/^[1-9][0-9]{0,3}$/.test(limit) || Number(limit) > MAX_LIMIT) {
        throw new GatewayError('invalid_query', {
          errors: [{ param: 'limit', message: `must be a whole number from 1 to ${MAX_LIMIT}` }],
        });
      }
      if (before !== undefined && typeof before !== 'string') {
        throw new GatewayError('invalid_query', {
          errors: [{ param: 'before', message: 'must be the id of an entry, given once' }],
        });
      }
      const lines = await registry.readAudit(Number(limit), before);
      return { entries: lines.map(({ id, text }) => ({ id, ...(JSON.parse(text) as AuditRecord) })) };
    },
  );
}
