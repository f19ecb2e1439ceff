/** The steps of a rotation, as an operator takes them (`docs/contract.md`, "Admin plane"), and all of them in one. */
import { GatewayError } from '../../errors.js';
import type { Actor } from '../../telemetry/audit.js';
import {
  type Against,
  activatePending,
  mintAndStage,
  newToken,
  type RotationOptions,
  stageToken,
  verifyPending,
} from './rotation-steps.js';
import { discard, hasSeen, type NewToken, rollback, stage, type Vault } from './vault.js';

export interface Rotation {
  stage(token: NewToken, actor: Actor): Promise<Vault>;
  /** Stages a token unless it was in the vault before. */
  plant(token: NewToken, actor: Actor): Promise<Vault>;
  /** Asks the platform for a new token and stages it; when it hands out the active one, only its expiry is taken. */
  mint(actor: Actor): Promise<Vault>;
  /**
   * Proves the pending token.
   * @param id only this one, here and below. @throws GatewayError `conflict` when another has taken its place
   * @param mayGuess whether the platform may be asked for what nobody has asked for yet; true when absent
   * @throws GatewayError `verification_failed`
   */
  verify(actor: Actor, id?: string, mayGuess?: boolean): Promise<Vault>;
  activate(force: boolean, actor: Actor, id?: string): Promise<Vault>;
  rollback(actor: Actor): Promise<Vault>;
  discard(actor: Actor): Promise<Vault>;
  /**
   * Stages a token (or mints, without one) and verifies it; one that cannot be verified is dropped again.
   * @param force keep it although nothing proved it
   * @param against whether it must see what the active token sees
   * @returns its id, pending now; null when the platform handed out the active token once more
   */
  prepare(token: NewToken | null, force: boolean, actor: Actor, against?: Against): Promise<string | null>;
  /** Prepares a token and activates it. */
  rotate(token: NewToken | null, force: boolean, actor: Actor): Promise<Vault>;
}

export function createRotation(options: RotationOptions): Rotation {
  const { keeper, clock } = options;
  return {
    stage: async (from, actor) => (await stageToken(from, actor, options)).vault,
    plant: (from, actor) => {
      const token = newToken(from, options);
      return keeper.move('token.stage', actor, (vault) =>
        hasSeen(vault, token.fingerprint) ? vault : stage(vault, token),
      );
    },
    mint: async (actor) => (await mintAndStage(actor, options)).vault,
    verify: (actor, id, mayGuess) => verifyPending(actor, id, 'active', options, mayGuess),
    activate: (force, actor, id) => activatePending(force, actor, id, options),
    rollback: (actor) => keeper.move('token.rollback', actor, (vault) => rollback(vault, clock.now())),
    discard: (actor) => keeper.move('token.discard', actor, discard),
    prepare: (from, force, actor, against = 'active') => prepare(from, force, actor, against, options),
    async rotate(from, force, actor) {
      const id = await prepare(from, force, actor, 'active', options);
      return id === null ? keeper.vault() : activatePending(force, actor, id, options);
    },
  };
}

async function prepare(
  from: NewToken | null,
  force: boolean,
  actor: Actor,
  against: Against,
  options: RotationOptions,
): Promise<string | null> {
  const { vault: staged, token } =
    from === null ? await mintAndStage(actor, options) : await stageToken(from, actor, options);
  if (staged.pending?.id !== token.id) return null;
  try {
    // What is to be activated in any case is not worth a call that nobody asked for.
    await verifyPending(actor, token.id, against, options, !force);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'verification_failed') throw error;
    if (!force) {
      await options.keeper.move('token.discard', actor, (vault) =>
        vault.pending?.id === token.id ? discard(vault) : vault,
      );
      throw error;
    }
  }
  return token.id;
}
