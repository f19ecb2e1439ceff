/** Calls about backups of the registry and of the embedded store. */
import Type from 'typebox';
import { VAULT_RECORD } from '../../platform/credential/keeper.js';
import { PURGES_RECORD } from '../../reports/cache/purges.js';
import { TEAM_PREFIX } from '../../teams/auth/directory.js';
import { KEY_PREFIX, LIFE_PREFIX } from '../../teams/auth/key-record.js';
import { PEPPER_RECORD, TOKEN_PEPPER_RECORD } from '../../teams/auth/pepper.js';
import { operations } from './operation.js';

/** The records of a backup: id prefixes, and single ids. */
export const PREFIXES = [TEAM_PREFIX, KEY_PREFIX, LIFE_PREFIX];
export const SINGLE = [VAULT_RECORD, PEPPER_RECORD, TOKEN_PEPPER_RECORD, PURGES_RECORD];

const BACKUP_ID = `^(${PREFIXES.join('|')}).{1,100}$|^(${SINGLE.join('|')})$`;

export const FORMAT = 'dsp-gateway-registry';
const closed = { additionalProperties: false };

export const Backup = Type.Object(
  {
    format: Type.Literal(FORMAT),
    schema: Type.Integer({ minimum: 0, description: 'Version of the records.' }),
    exportedAt: Type.String({ description: 'ISO time.' }),
    records: Type.Array(
      Type.Object(
        {
          id: Type.String({ pattern: BACKUP_ID }),
          text: Type.String(),
        },
        closed,
      ),
      { description: 'Teams, keys, the vault, the pepper and the purges, as they are stored.' },
    ),
  },
  closed,
);

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
  'Restore a backup',
  {
    body: Type.Object(
      {
        ...Backup.properties,
        replace: Type.Optional(Type.Boolean({ description: 'Replace existing teams and keys.' })),
      },
      { additionalProperties: false },
    ),
    bodyLimit: 67_108_864,
    answer: Type.Object({
      imported: Type.Object({
        teams: Type.Integer(),
        keys: Type.Integer(),
        replaced: Type.Boolean({ description: 'Whether existing records were replaced.' }),
        stillRevoked: Type.Optional(
          Type.Integer({
            description: 'Keys that the backup has as valid and that were revoked since: they stay revoked.',
          }),
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
          description: "Absolute path of a new folder on the gateway's machine.",
        }),
        history: Type.Optional(
          Type.Boolean({ description: 'Include the history of reports, and pins; true by default.' }),
        ),
      },
      { additionalProperties: false },
    ),
    answer: Type.Object({
      folder: Type.String({ description: 'The folder with the copy.' }),
      history: Type.Boolean({ description: 'Whether it includes the history of reports, and pins.' }),
    }),
    about: 'The copy is complete and written to disk.',
    problems: ['conflict'],
  },
);
