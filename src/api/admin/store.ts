/** Backs up the embedded store. Only the gateway can copy it: no other process may open it at the same time. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Services } from '../../server/services.js';
import { BackupTargetRefused, StoreRefused } from '../../store/refused.js';
import { noteEvent } from '../../telemetry/audit.js';
import { backUpStore } from '../operations/registry.js';
import { serve } from './serve.js';

export function registerStore(
  app: FastifyInstance,
  { store, registry, clock }: Pick<Services, 'store' | 'registry' | 'clock'>,
): void {
  serve(app, backUpStore, async ({ body, actor }) => {
    const { folder, history = true } = body;
    if (store.backup === undefined)
      throw new GatewayError('conflict', {
        detail: 'The store is Redis, which has its own means of backup.',
        help: 'Copy its files (RDB, AOF), or use GET /admin/v1/registry/export.',
      });
    const event = { action: 'store.backup', subject: 'store', after: { folder, history } };
    // Written first: no audit, no copy.
    const begin = () => noteEvent({ registry, clock }, event, actor);
    await store.backup(folder, history, begin).catch((error: unknown) => {
      throw refused(error);
    });
    return { folder, history };
  });
}

function refused(error: unknown): unknown {
  if (error instanceof BackupTargetRefused)
    return new GatewayError('invalid_body', {
      status: 422,
      errors: [{ param: 'folder', message: error.fault }],
      cause: error,
    });
  if (error instanceof StoreRefused)
    return new GatewayError('conflict', { detail: `The backup failed: ${error.message}.`, cause: error });
  return error;
}
