/** The platform's tokens: state, and the steps of a rotation. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { readVault, VAULT_RECORD, writeVault } from '../../platform/credential/keeper.js';
import { SealError } from '../../platform/credential/seal.js';
import { type NewToken, showToken, type Vault } from '../../platform/credential/vault.js';
import type { Services } from '../../server/services.js';
import { updateRecord } from '../../store/registry/record-book.js';
import { PEPPER_RECORD, resealPepper, TOKEN_PEPPER_RECORD } from '../../teams/auth/pepper.js';
import { PERSON_PREFIX, resealPerson } from '../../teams/sign-in/persons.js';
import { type Actor, auditLine } from '../../telemetry/audit.js';
import { goneSignal } from '../http/send.js';
import type { AnswerOf } from '../operations/operation.js';
import {
  activateToken,
  discardToken,
  getTokens,
  mintToken,
  resealToken,
  rollbackToken,
  rotateToken,
  stageToken,
  verifyToken,
} from '../operations/token.js';
import { invalidMembers, readFutureDate } from './members.js';
import { serve } from './serve.js';

interface Sealed extends Pick<Services, 'registry' | 'sealer'> {
  readonly clock: Pick<Clock, 'now'>;
}

export function registerToken(
  app: FastifyInstance,
  options: Sealed & Pick<Services, 'keeper' | 'rotation' | 'canMint'>,
): void {
  const { keeper, rotation, clock, canMint } = options;
  const show = (vault: Vault): AnswerOf<typeof getTokens> => ({
    active: showToken(vault.active),
    pending: showToken(vault.pending),
    previous: showToken(vault.previous),
    canMint,
  });
  const staged = (token: string, expires: string | undefined): NewToken => ({
    secret: token,
    source: 'staged',
    expiresAt: readFutureDate('expiresAt', expires, clock.now()),
  });
  serve(app, getTokens, async () => show(keeper.vault()));
  serve(app, stageToken, async ({ body, actor }) =>
    show(await rotation.stage(staged(body.token, body.expiresAt), actor)),
  );
  serve(app, mintToken, async ({ actor }) => show(await rotation.mint(actor)));
  serve(app, verifyToken, async ({ actor }, { raw }) =>
    show(await rotation.verify(actor, undefined, true, 'active', goneSignal(raw))),
  );
  serve(app, activateToken, async ({ body, actor }) =>
    show(await rotation.activate(body.force ?? false, actor)),
  );
  serve(app, rollbackToken, async ({ body, actor }, { raw }): Promise<AnswerOf<typeof rollbackToken>> => {
    const after = await rotation.rollback(body.force ?? false, actor, goneSignal(raw));
    const { refusedAt = null, verifiedAt = null } = after.active ?? {};
    if (refusedAt === null && verifiedAt !== null) return show(after);
    return { ...show(after), warning: refusedAt === null ? NOT_VERIFIED : refusedBefore(refusedAt) };
  });
  serve(app, discardToken, async ({ actor }) => show(await rotation.discard(actor)));
  serve(app, resealToken, ({ actor }) => reseal(actor, options));
  serve(app, rotateToken, async ({ body, actor }, { raw }) => {
    if (body.token === undefined && body.expiresAt !== undefined)
      throw invalidMembers({
        param: 'expiresAt',
        message: 'requires token',
        help: 'Send token, or omit expiresAt.',
      });
    const token = body.token === undefined ? null : staged(body.token, body.expiresAt);
    return show(await rotation.rotate(token, body.force ?? false, actor, goneSignal(raw)));
  });
}

const NOT_VERIFIED =
  'This token could not be verified now. If the platform refuses it, roll back again, or rotate to another token.';

const refusedBefore = (at: string) =>
  `The platform refused this token at ${at}. If it still does, only cached reports are served: roll back again, or rotate to another token.`;

/**
 * Re-encrypts vault and pepper in one commit, so that both are always under the same key. Contents and key hashes stay.
 * @throws GatewayError `conflict` if a record cannot be decrypted; nothing is changed then. StoreUnavailable
 */
export async function reseal(
  actor: Actor,
  { registry, sealer, clock }: Sealed,
): Promise<AnswerOf<typeof resealToken>> {
  const masterKey = sealer.keyId();
  let records: string[] = [];
  const step = (pepper: string | null) => {
    if (pepper === null) return null;
    const others = othersResealed({ registry, sealer });
    records = [
      PEPPER_RECORD,
      ...new Set(others.map(([id]) => (id.startsWith(PERSON_PREFIX) ? `${PERSON_PREFIX}*` : id))),
    ];
    const event = { action: 'token.reseal', subject: 'registry', after: { masterKey, records } };
    return {
      text: resealPepper(pepper, sealer),
      also: others,
      audit: [auditLine(event, actor, clock.now())],
    };
  };
  try {
    await updateRecord(registry, PEPPER_RECORD, step, 'The tokens were');
  } catch (error) {
    if (error instanceof SealError)
      throw new GatewayError('conflict', { detail: `${error.message}.`, cause: error });
    throw error;
  }
  return { masterKey, records };
}

/** The other sealed records, re-encrypted, with the revisions they were read at. */
function othersResealed({ registry, sealer }: Pick<Services, 'registry' | 'sealer'>) {
  const vault = registry.get(VAULT_RECORD);
  const pepper = registry.get(TOKEN_PEPPER_RECORD);
  const others: [id: string, text: string | null, revision: number][] = registry
    .list(PERSON_PREFIX)
    .map(([id, { value, revision }]) => [id, resealPerson(id, value, sealer), revision]);
  if (vault !== undefined)
    others.push([VAULT_RECORD, writeVault(readVault(vault.value, sealer), sealer), vault.revision]);
  if (pepper !== undefined)
    others.push([TOKEN_PEPPER_RECORD, resealPepper(pepper.value, sealer), pepper.revision]);
  return others;
}
