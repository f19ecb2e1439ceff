/** Calls about backups: the registry as a whole, and the embedded store as a whole. */
import Type from 'typebox';
import { Backup } from '../../admin/registry-backup.js';
import { operations } from './operation.js';

const describe = operations('registry');

export const exportRegistry = describe(
  'exportRegistry',
  'owner',
  'GET /admin/v1/registry/export',
  'Teams, keys (hashes) and sealed tokens, for a backup',
  { answer: Type.Object(Backup.properties, { title: 'Backup' }), about: 'The backup.' },
);

export const importRegistry = describe(
  'importRegistry',
  'owner',
  'POST /admin/v1/registry/import',
  'Restore what was exported',
  {
    body: Type.Object(
      {
        ...Backup.properties,
        replace: Type.Optional(
          Type.Boolean({ description: 'In the place of teams and keys that are there.' }),
        ),
      },
      { additionalProperties: false },
    ),
    bodyLimit: 67_108_864,
    answer: Type.Object({
      imported: Type.Object({
        teams: Type.Integer(),
        keys: Type.Integer(),
        replaced: Type.Boolean({ description: 'There was something before.' }),
        stillRevoked: Type.Optional(
          Type.Integer({ description: 'Keys valid in the backup and revoked since: they stay revoked.' }),
        ),
      }),
    }),
    problems: ['conflict'],
  },
);

export const backUpStore = describe(
  'backUpStore',
  'owner',
  'POST /admin/v1/store/backup',
  'Copy the embedded store into a new folder',
  {
    body: Type.Object(
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
    ),
    answer: Type.Object({
      folder: Type.String({ description: 'What holds the copy now.' }),
      history: Type.Boolean({ description: 'Whether it has the history of reports, and pins.' }),
    }),
    about: 'The copy is whole, and on the disk.',
    problems: ['conflict'],
  },
);
