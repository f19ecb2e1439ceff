/** The registry as a whole: export and import. */
import type { FastifyInstance } from 'fastify';
import {
  exportRegistry as exportOperation,
  importRegistry as importOperation,
} from '../operations/registry.js';
import { type BackupParts, exportRegistry, importRegistry } from './registry-backup.js';
import { serve } from './serve.js';

export function registerRegistry(app: FastifyInstance, parts: BackupParts): void {
  serve(app, exportOperation, async () => exportRegistry(parts));
  serve(app, importOperation, async ({ body, actor }) => {
    const { replace = false, ...backup } = body;
    return { imported: await importRegistry(backup, replace, actor, parts) };
  });
}
