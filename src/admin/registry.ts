/** The registry as a whole: export and import. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { json, shownAs } from '../openapi/operation.js';
import { Backup, type BackupParts, exportRegistry, importRegistry } from './registry-backup.js';
import { changed } from './say-unconfirmed.js';

const MAX_BYTES = 67_108_864;

const Import = Type.Object(
  {
    ...Backup.properties,
    replace: Type.Optional(Type.Boolean({ description: 'In the place of teams and keys that are there.' })),
  },
  { additionalProperties: false },
);

const EXPORT = {
  id: 'exportRegistry',
  answers: {
    200: json(Type.Object(Backup.properties, { title: 'Backup' }), 'The backup.'),
  },
};

const Imported = Type.Object({
  imported: Type.Object({
    teams: Type.Integer(),
    keys: Type.Integer(),
    replaced: Type.Boolean({ description: 'There was something before.' }),
    stillRevoked: Type.Optional(
      Type.Integer({ description: 'Keys valid in the backup and revoked since: they stay revoked.' }),
    ),
  }),
});

const IMPORT = {
  id: 'importRegistry',
  answers: { 200: changed(Imported) },
  problems: ['conflict'],
} as const;

export function registerRegistry(app: FastifyInstance, parts: BackupParts): void {
  app.get(
    '/admin/v1/registry/export',
    shownAs('registry', 'Teams, keys (hashes) and sealed tokens, for a backup', EXPORT),
    async () => exportRegistry(parts),
  );
  app.post(
    '/admin/v1/registry/import',
    {
      bodyLimit: MAX_BYTES,
      ...shownAs('registry', 'Restore what was exported', IMPORT, Import),
    },
    async (request) => {
      const { replace = false, ...backup } = request.body as Static<typeof Import>;
      return { imported: await importRegistry(backup, replace, request.actor, parts) };
    },
  );
}
