/** The steps of a rotation, as an operator takes them (`docs/contract.md`, "Admin plane"), and all of them in one. */
import { TOKEN_REQUEST } from '../../config/token-request.js';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import type { Actor } from '../../telemetry/audit.js';
import type { VaultKeeper } from './keeper.js';
import type { Minted } from './mint.js';
import {
  activate,
  createToken,
  discard,
  hasSeen,
  markVerified,
  type NewToken,
  noPending,
  renew,
  rollback,
  stage,
  type Token,
  type Vault,
} from './vault.js';
import { compareWithActive, proveToken, type VerifyOptions } from './verify-token.js';

// The single steps of a rotation: each reads the vault, asks the platform where it must, and moves the vault.

interface RotationOptions extends VerifyOptions {
  readonly keeper: VaultKeeper;
  readonly pepper: () => Buffer;
  readonly clock: Clock;
  /** Null when no token request is configured. */
  readonly mintToken: (() => Promise<Minted>) | null;
}

/** A token that was put into the vault, and the vault afterwards. */
interface Staged {
  readonly token: Token;
  readonly vault: Vault;
}

function newToken(from: NewToken, { pepper, clock }: RotationOptions): Token {
  return createToken(from, pepper(), clock.now());
}

async function stageToken(from: NewToken, actor: Actor, options: RotationOptions): Promise<Staged> {
  const token = newToken(from, options);
  return { token, vault: await options.keeper.move('token.stage', actor, (vault) => stage(vault, token)) };
}

/** Asks the platform for a new token and stages it; when it hands out the active one, only its expiry is taken. */
async function mintAndStage(actor: Actor, options: RotationOptions): Promise<Staged> {
  const { keeper, clock, mintToken } = options;
  if (mintToken === null) {
    throw new GatewayError('conflict', {
      detail: 'No token request is configured, so the platform cannot be asked for a token.',
      help: `Give a token by POST /admin/v1/token/rotate, or set all of ${TOKEN_REQUEST.join(', ')}.`,
    });
  }
  const { secret, expiresInS } = await mintToken();
  const expiresAt = expiresInS === null ? null : new Date(clock.now() + expiresInS * 1000).toISOString();
  const token = newToken({ secret, source: 'minted', expiresAt }, options);
  const vault = await keeper.move('token.mint', actor, (before) =>
    before.active?.fingerprint === token.fingerprint
      ? renew(before, token.expiresAt, token.expiryKnown)
      : stage(before, token),
  );
  return { vault, token };
}

/** What a new token has to see: as much as the active one, or anything at all. */
type Against = 'active' | 'nothing';

/**
 * Proves the pending token.
 * @param id only this one, here and below. @throws GatewayError `conflict` when another has taken its place
 * @param mayGuess whether the platform may be asked for what nobody has asked for yet
 * @throws GatewayError `verification_failed`
 */
async function verifyPending(
  actor: Actor,
  id: string | undefined,
  against: Against,
  options: RotationOptions,
  mayGuess = true,
): Promise<Vault> {
  const { keeper, clock } = options;
  const { pending: token, active } = keeper.vault();
  if (token === null && id === undefined) throw noPending();
  if (token === null || token.id !== (id ?? token.id)) throw superseded();
  let proof: object;
  try {
    const { target, reason } = await proveToken(token, { ...options, active, mayGuess });
    const compared =
      against === 'active' ? await compareWithActive(token, keeper.vault().active, options) : 0;
    proof = { call: target, reason, reportsCompared: compared };
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'verification_failed') {
      const reason = error.options.detail;
      await keeper.note('token.verify', actor, token.id, { verified: false, reason });
    }
    throw error;
  }
  const verified = (vault: Vault): Vault => {
    if (vault.pending?.id !== token.id) throw superseded();
    return markVerified(vault, token.id, clock.now());
  };
  return keeper.move('token.verify', actor, verified, { proof });
}

function activatePending(
  force: boolean,
  actor: Actor,
  id: string | undefined,
  { keeper, clock }: RotationOptions,
): Promise<Vault> {
  return keeper.move('token.activate', actor, (vault) => {
    if (id !== undefined && vault.active?.id === id) return vault;
    if (id !== undefined && vault.pending?.id !== id) throw superseded();
    return activate(vault, force, clock.now());
  });
}

function superseded(): GatewayError {
  return new GatewayError('conflict', {
    detail: 'Another token was put in its place in between.',
    help: 'GET /admin/v1/token shows which; repeat if yours is still wanted.',
  });
}

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
