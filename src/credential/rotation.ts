/** The steps of a rotation, as an operator takes them (contract, section 3), and all of them in one. */
import type { Clock } from '../clock.js';
import { GatewayError } from '../errors.js';
import type { Actor } from '../telemetry/audit.js';
import type { VaultKeeper } from './keeper.js';
import type { Minted } from './mint.js';
import type { ProbeResult } from './probe.js';
import {
  activate,
  createToken,
  discard,
  markVerified,
  type NewToken,
  rollback,
  stage,
  type Token,
  type Vault,
} from './vault.js';

/** `internal` of a verification that failed because the platform refused the token, not for lack of proof. */
export const REFUSED = 'refused by the platform';

export interface Rotation {
  stage(token: NewToken, actor: Actor): Promise<Vault>;
  /** Asks the platform for a new token and stages it. */
  mint(actor: Actor): Promise<Vault>;
  /** Proves the pending token. @throws GatewayError `verification_failed` */
  verify(actor: Actor): Promise<Vault>;
  activate(force: boolean, actor: Actor): Promise<Vault>;
  rollback(actor: Actor): Promise<Vault>;
  discard(actor: Actor): Promise<Vault>;
  /** Stage (or mint, without a token), verify, activate; a token that cannot be verified is dropped again. */
  rotate(token: NewToken | null, force: boolean, actor: Actor): Promise<Vault>;
}

export interface RotationOptions {
  readonly keeper: VaultKeeper;
  readonly pepper: () => Buffer;
  readonly clock: Clock;
  /** Null when no token request is configured. */
  readonly mintToken: (() => Promise<Minted>) | null;
  /** Null while there is no call to prove a token with. */
  readonly probeTarget: () => string | null;
  readonly probe: (target: string, secret: string) => Promise<ProbeResult>;
}

export function createRotation(options: RotationOptions): Rotation {
  const { keeper, pepper, clock } = options;

  const stageToken = (from: NewToken, actor: Actor): Promise<Vault> => {
    const token = createToken(from, pepper(), clock.now());
    return keeper.move('token.stage', actor, (vault) => stage(vault, token));
  };

  async function mint(actor: Actor): Promise<Vault> {
    if (options.mintToken === null) {
      throw new GatewayError('conflict', {
        detail:
          'No token request is configured. Set PLATFORM_USERNAME, PLATFORM_PASSWORD, PLATFORM_CLIENT_ID and PLATFORM_CLIENT_SECRET, or stage a token.',
      });
    }
    const minted = await options.mintToken();
    const nowMs = clock.now();
    const expiresAt =
      minted.expiresInS === null ? null : new Date(nowMs + minted.expiresInS * 1000).toISOString();
    const token = createToken({ secret: minted.secret, source: 'minted', expiresAt }, pepper(), nowMs);
    return keeper.move('token.mint', actor, (vault) =>
      // A platform may hand out the token it gave before.
      vault.active?.fingerprint === token.fingerprint ? vault : stage(vault, token),
    );
  }

  async function verify(actor: Actor): Promise<Vault> {
    const token = keeper.vault().pending;
    if (token === null)
      throw new GatewayError('conflict', { detail: 'There is no pending token; stage one first.' });
    await prove(token);
    return keeper.move('token.verify', actor, (vault) => markVerified(vault, token.id, clock.now()));
  }

  async function prove(token: Token): Promise<void> {
    const target = options.probeTarget();
    if (target === null) {
      // Fresh from the token request it counts as verified: the platform itself handed it out just now.
      if (token.source === 'minted') return;
      throw new GatewayError('verification_failed', {
        detail:
          'There is no call to prove the token with yet. Set PLATFORM_PROBE, or repeat with "force": true.',
      });
    }
    const { outcome, reason } = await options.probe(target, token.secret);
    if (outcome === 'accepted') return;
    throw new GatewayError('verification_failed', {
      ...(outcome === 'refused' ? { internal: REFUSED } : {}),
      detail:
        outcome === 'refused'
          ? 'The platform refused the token; the active one stays.'
          : `The token could not be proven (${reason}); the active one stays.`,
    });
  }

  async function rotate(from: NewToken | null, force: boolean, actor: Actor): Promise<Vault> {
    const staged = from === null ? await mint(actor) : await stageToken(from, actor);
    if (staged.pending === null) return staged;
    try {
      await verify(actor);
    } catch (error) {
      if (!force) {
        await keeper.move('token.discard', actor, (vault) =>
          vault.pending?.id === staged.pending?.id ? discard(vault) : vault,
        );
        throw error;
      }
    }
    return keeper.move('token.activate', actor, (vault) => activate(vault, force));
  }

  return {
    stage: stageToken,
    mint,
    verify,
    rotate,
    activate: (force, actor) => keeper.move('token.activate', actor, (vault) => activate(vault, force)),
    rollback: (actor) => keeper.move('token.rollback', actor, (vault) => rollback(vault, clock.now())),
    discard: (actor) => keeper.move('token.discard', actor, discard),
  };
}
