/** Calls about backups of the registry and of the embedded store. */
import Type from 'typebox';
import { VAULT_RECORD } from '../../platform/credential/keeper.js';
import { PURGES_RECORD } from '../../reports/cache/purges.js';
import { TEAM_PREFIX } from '../../teams/auth/directory.js';
import { KEY_PREFIX, LIFE_PREFIX } from '../../teams/auth/key-record.js';
import { PEPPER_RECORD, TOKEN_PEPPER_RECORD } from '../../teams/auth/pepper.js';
import { closed, text, titled } from '../openapi/schemas.js';
import { operations } from './operation.js';

/** The records of a backup: id prefixes, and single ids. */
export const PREFIXES = [TEAM_PREFIX, KEY_PREFIX, LIFE_PREFIX];
export const SINGLE = [VAULT_RECORD, PEPPER_RECORD, TOKEN_PEPPER_RECORD, PURGES_RECORD];

const BACKUP_ID = `^(${PREFIXES.join('|')}).{1,100}$|^(${SINGLE.join('|')})$`;

export const FORMAT = 'dsp-gateway-registry';

export const Backup = closed({
  format: Type.Literal(FORMAT),
  schema: Type.Integer({ minimum: 0, description: 'Version of the records.' }),
  exportedAt: text('ISO time.'),
  records: Type.Array(closed({ id: Type.String({ pattern: BACKUP_ID }), text: Type.String() }), {
    description: 'Teams, keys, the vault, the pepper and the purges, as they are stored.',
  }),
});

const describe = operations('registry');

export const exportRegistry = describe('exportRegistry', 'owner', 'GET /admin/v1/registry/export', {
  summary: 'Teams, keys (hashes) and sealed tokens, for a backup',
  answer: titled('Backup', Backup.properties),
  about: 'The backup.',
});

export const importRegistry = describe('importRegistry', 'owner', 'POST /admin/v1/registry/import', {
  summary: 'Restore a backup',
  body: closed({
    ...Backup.properties,
    replace: Type.Optional(Type.Boolean({ description: 'Replace existing teams and keys.' })),
  }),
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
});

export const backUpStore = describe('backUpStore', 'owner', 'POST /admin/v1/store/backup', {
  summary: 'Copy the embedded store into a new folder',
  body: closed({
    folder: Type.String({
      minLength: 1,
      maxLength: 4096,
      description: "Absolute path of a new folder on the gateway's machine.",
    }),
    history: Type.Optional(
      Type.Boolean({ description: 'Include the history of reports, and pins; true by default.' }),
    ),
  }),
  answer: Type.Object({
    folder: text('The folder with the copy.'),
    history: Type.Boolean({ description: 'Whether it includes the history of reports, and pins.' }),
  }),
  about: 'The copy is complete and written to disk.',
  problems: ['conflict'],
});
