/** Team keys: issue, list, roll, revoke. The key itself is shown once, in the answer that made it. */
import type { FastifyInstance } from 'fastify';
import type { KeyRecord } from '../../teams/auth/key-record.js';
import type { LastUse } from '../../teams/auth/last-use.js';
import { issueKey, listAllKeys, listKeys, revokeKey, rollKey } from '../operations/keys.js';
import { readFutureDate } from './future-date.js';
import { serve } from './serve.js';
import { createTeamKeys, type IssuedKey, showKey, type TeamKeysOptions } from './team-keys.js';

export interface KeysOptions extends TeamKeysOptions {
  readonly lastUse: Pick<LastUse, 'read'>;
}

export function registerKeys(app: FastifyInstance, options: KeysOptions): void {
  const { lastUse, clock } = options;
  const keys = createTeamKeys(options);
  const listed = async (found: readonly KeyRecord[]) => {
    const used = await lastUse.read();
    return { keys: found.map((key) => ({ ...showKey(key), lastUsedAt: isoOf(used.get(key.id)) })) };
  };

  serve(app, issueKey, async ({ params, body, actor }) => {
    const { label = '', expiresAt: given = null } = body;
    const expiresAt = readFutureDate('expiresAt', given, clock.now());
    return showIssued(await keys.issue({ teamId: params.id, label, expiresAt }, actor));
  });
  serve(app, listKeys, async ({ params }) => listed(keys.of(params.id)));
  serve(app, listAllKeys, async () => listed(keys.all()));
  serve(app, revokeKey, async ({ params, actor }) => keys.revoke(params.id, actor));
  serve(app, rollKey, async ({ params, body, actor }) =>
    showIssued(await keys.roll(params.id, body.overlapSeconds ?? 0, actor)),
  );
}

function isoOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

function showIssued({ key, text }: IssuedKey): object {
  const { id, teamId, createdAt, expiresAt } = key;
  return { id, key: text, prefix: key.secrets[0]?.prefix, teamId, createdAt, expiresAt };
}
