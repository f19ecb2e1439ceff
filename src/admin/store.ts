/** The embedded store as a whole: copied by the gateway that has it open, which no other process may open meanwhile. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import { json, shownAs } from '../openapi/operation.js';
import type { Store } from '../store/port.js';
import { BackupTargetRefused, StoreRefused } from '../store/refused.js';
import type { Registry } from '../store/registry/replica.js';
import { auditLine } from '../telemetry/audit.js';

export interface StoreRoutesOptions {
  readonly store: Pick<Store, 'backup'>;
  readonly registry: Pick<Registry, 'commit'>;
  readonly clock: Clock;
}

const Backup = Type.Object(
  {
    folder: Type.String({
      minLength: 1,
      maxLength: 4096,
      description: "A new folder on the gateway's machine, as an absolute path.",
    }),
    history: Type.Optional(
      Type.Boolean({ description: 'False: without what reports said, and pins. True unless given.' }),
    ),
  },
  { additionalProperties: false },
);

const BACKUP = {
  id: 'backUpStore',
  answers: {
    200: json(
      Type.Object({
        folder: Type.String({ description: 'What holds the copy now.' }),
        history: Type.Boolean({ description: 'Whether it has the history of reports, and pins.' }),
      }),
      'The copy is whole, and on the disk.',
    ),
  },
  problems: ['conflict'],
} as const;

export function registerStore(app: FastifyInstance, { store, registry, clock }: StoreRoutesOptions): void {
  app.post(
    '/admin/v1/store/backup',
    shownAs('registry', 'Copy the embedded store into a new folder', BACKUP, Backup),
    async (request) => {
      const { folder, history = true } = request.body as Static<typeof Backup>;
      if (store.backup === undefined)
        throw new GatewayError('conflict', {
          detail: 'The store is Redis, which is backed up by its own means.',
          help: 'Copy its files (RDB, AOF), or use GET /admin/v1/registry/export.',
        });
      const event = { action: 'store.backup', subject: 'store', after: { folder, history } };
      // Written before it is done: no audit, no copy.
      const begin = async () => {
        const audit = [auditLine(event, request.actor, clock.now())];
        await registry.commit({ writes: new Map(), audit });
      };
      await store.backup(folder, history, begin).catch((error: unknown) => {
        throw refused(error);
      });
      return { folder, history };
    },
  );
}

function refused(error: unknown): unknown {
  if (error instanceof BackupTargetRefused)
    return new GatewayError('invalid_body', {
      status: 422,
      errors: [{ param: 'folder', message: error.fault }],
      cause: error,
    });
  if (error instanceof StoreRefused)
    return new GatewayError('conflict', { detail: `No copy was kept: ${error.message}.`, cause: error });
  return error;
}
