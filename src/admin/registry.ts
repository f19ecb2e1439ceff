/** The registry as a whole: export and import. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { Backup, type BackupParts, exportRegistry, importRegistry } from './registry-backup.js';

const MAX_BYTES = 67_108_864;

const Import = Type.Object(
  {
    ...Backup.properties,
    replace: Type.Optional(Type.Boolean({ description: 'In the place of teams and keys that are there.' })),
  },
  { additionalProperties: false },
);

export function registerRegistry(app: FastifyInstance, parts: BackupParts): void {
  app.get(
    '/admin/v1/registry/export',
    { schema: { tags: ['registry'], summary: 'Teams, keys (hashes) and sealed tokens, for a backup' } },
    async (_request, reply) => reply.header('cache-control', 'no-store').send(exportRegistry(parts)),
  );
  app.post(
    '/admin/v1/registry/import',
    {
      bodyLimit: MAX_BYTES,
      schema: { tags: ['registry'], summary: 'Restore what was exported', body: Import },
    },
    async (request) => {
      const { replace = false, ...backup } = request.body as Static<typeof Import>;
      return { imported: await importRegistry(backup, replace, request.actor, parts) };
    },
  );
}
