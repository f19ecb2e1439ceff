/** The steps of a rotation, as an operator takes them (contract, section 3), and all of them in one. */
import type { Clock } from '../clock.js';
import { GatewayError } from '../errors.js';
import type { Actor } from '../telemetry/audit.js';
import type { VaultKeeper } from './keeper.js';
import type { Minted } from './mint.js';
import type { ProbeResult } from './probe.js';
import type { SeesLess } from './sight.js';
import {
  activate,
  createToken,
  discard,
  hasSeen,
  markVerified,
  type NewToken,
  renew,
  rollback,
  stage,
  type Token,
  type Vault,
} from './vault.js';

/** `internal` of a verification that failed because the platform refused the token, not for lack of proof. */
export const REFUSED = 'refused by the platform';

export interface Rotation {
  stage(token: NewToken, actor: Actor): Promise<Vault>;
  /** Stages a token unless it was in the vault before. */
  plant(token: NewToken, actor: Actor): Promise<Vault>;
  /** Asks the platform for a new token and stages it; when it hands out the active one, only its expiry is taken. */
  mint(actor: Actor): Promise<Vault>;
  /**
   * Proves the pending token.
   * @param id only this one, here and below. @throws GatewayError `conflict` when another has taken its place
   * @throws GatewayError `verification_failed`
   */
  verify(actor: Actor, id?: string): Promise<Vault>;
  activate(force: boolean, actor: Actor, id?: string): Promise<Vault>;
  rollback(actor: Actor): Promise<Vault>;
  discard(actor: Actor): Promise<Vault>;
  /**
   * Stages a token (or mints, without one) and verifies it; one that cannot be verified is dropped again.
   * @param force keep it although nothing proved it
   * @param against whether it must see what the active token sees
   * @returns its id, pending now; null when the platform handed out the active token once more
   */
  prepare(
    token: NewToken | null,
    force: boolean,
    actor: Actor,
    against?: 'active' | 'nothing',
  ): Promise<string | null>;
  /** Prepares a token and activates it. */
  rotate(token: NewToken | null, force: boolean, actor: Actor): Promise<Vault>;
}

export interface RotationOptions {
  readonly keeper: VaultKeeper;
  readonly pepper: () => Buffer;
  readonly clock: Clock;
  /** Null when no token request is configured. */
  readonly mintToken: (() => Promise<Minted>) | null;
  readonly probeTargets: () => Promise<ProbeTargets>;
  readonly probe: (target: string, secret: string) => Promise<ProbeResult>;
  readonly seesLess: SeesLess;
}

export interface ProbeTargets {
  /** Calls that prove a token, to be tried in turn. */
  readonly targets: readonly string[];
  /** False when the gateway chose them: then they prove, and disprove nothing but by a refusal of the token. */
  readonly configured: boolean;
}

/** A token that was put into the vault, and the vault afterwards. */
interface Staged {
  readonly token: Token;
  readonly vault: Vault;
}

export function createRotation(options: RotationOptions): Rotation {
  const { keeper, pepper, clock } = options;

  const newToken = (from: NewToken): Token => createToken(from, pepper(), clock.now());

  async function stageToken(from: NewToken, actor: Actor): Promise<Staged> {
    const token = newToken(from);
    return { token, vault: await keeper.move('token.stage', actor, (vault) => stage(vault, token)) };
  }

  async function mint(actor: Actor): Promise<Staged> {
    if (options.mintToken === null) {
      throw new GatewayError('conflict', {
        detail:
          'No token request is configured. Set PLATFORM_USERNAME, PLATFORM_PASSWORD, PLATFORM_CLIENT_ID and PLATFORM_CLIENT_SECRET, or stage a token.',
      });
    }
    const { secret, expiresInS } = await options.mintToken();
    const expiresAt = expiresInS === null ? null : new Date(clock.now() + expiresInS * 1000).toISOString();
    const token = newToken({ secret, source: 'minted', expiresAt });
    const vault = await keeper.move('token.mint', actor, (before) =>
      before.active?.fingerprint === token.fingerprint
        ? renew(before, token.expiresAt, token.expiryKnown)
        : stage(before, token),
    );
    return { vault, token };
  }

  async function verify(actor: Actor, id?: string, against = 'active'): Promise<Vault> {
    const token = keeper.vault().pending;
    if (token === null && id === undefined)
      throw new GatewayError('conflict', { detail: 'There is no pending token; stage one first.' });
    if (token === null || token.id !== (id ?? token.id)) throw superseded();
    try {
      await prove(token);
      if (against === 'active') await compare(token);
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'verification_failed') {
        const reason = error.options.detail;
        await keeper.note('token.verify', actor, token.id, { verified: false, reason });
      }
      throw error;
    }
    return keeper.move('token.verify', actor, (vault) => {
      if (vault.pending?.id !== token.id) throw superseded();
      return markVerified(vault, token.id, clock.now());
    });
  }

  const activatePending = (force: boolean, actor: Actor, id?: string): Promise<Vault> =>
    keeper.move('token.activate', actor, (vault) => {
      if (id !== undefined && vault.active?.id === id) return vault;
      if (id !== undefined && vault.pending?.id !== id) throw superseded();
      return activate(vault, force, clock.now());
    });

  /** One call that the platform answers is proof enough, and one that it refuses is proof of the contrary. */
  async function prove(token: Token): Promise<void> {
    let doubt = 'there is no call to prove it with yet; set PLATFORM_PROBE';
    const { targets, configured } = await options.probeTargets();
    for (const target of targets) {
      const { outcome, reason } = await options.probe(target, token.secret);
      if (outcome === 'accepted') return;
      if (outcome === 'refused')
        throw unverified('The platform refused the token; the active one stays.', REFUSED);
      doubt = reason;
    }
    // Fresh from the token request it counts as proven: the platform itself handed it out just now.
    if (!configured && token.source === 'minted') return;
    throw unverified(
      `The token could not be proven (${doubt}); the active one stays. Repeat with "force": true to activate it unverified.`,
    );
  }

  /** What the active token cannot see any more is held against nobody: see `SeesLess`. */
  async function compare(token: Token): Promise<void> {
    const { active } = keeper.vault();
    if (active === null || active.id === token.id) return;
    const less = await options.seesLess(token.secret, active.secret);
    if (less === null) return;
    throw unverified(
      `The token sees less than the active one: ${less}. The active one stays; repeat with "force": true if that is meant.`,
    );
  }

  async function prepare(
    from: NewToken | null,
    force: boolean,
    actor: Actor,
    against: 'active' | 'nothing' = 'active',
  ): Promise<string | null> {
    const { vault: staged, token } = from === null ? await mint(actor) : await stageToken(from, actor);
    if (staged.pending?.id !== token.id) return null;
    try {
      await verify(actor, token.id, against);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'verification_failed') throw error;
      if (!force) {
        await keeper.move('token.discard', actor, (vault) =>
          vault.pending?.id === token.id ? discard(vault) : vault,
        );
        throw error;
      }
    }
    return token.id;
  }

  return {
    stage: async (from, actor) => (await stageToken(from, actor)).vault,
    plant: (from, actor) => {
      const token = newToken(from);
      return keeper.move('token.stage', actor, (vault) =>
        hasSeen(vault, token.fingerprint) ? vault : stage(vault, token),
      );
    },
    mint: async (actor) => (await mint(actor)).vault,
    verify: (actor, id) => verify(actor, id),
    activate: activatePending,
    rollback: (actor) => keeper.move('token.rollback', actor, (vault) => rollback(vault, clock.now())),
    discard: (actor) => keeper.move('token.discard', actor, discard),
    prepare,
    async rotate(from, force, actor) {
      const id = await prepare(from, force, actor);
      return id === null ? keeper.vault() : activatePending(force, actor, id);
    },
  };
}

function unverified(detail: string, internal?: string): GatewayError {
  return new GatewayError('verification_failed', { detail, ...(internal === undefined ? {} : { internal }) });
}

function superseded(): GatewayError {
  return new GatewayError('conflict', {
    detail: 'Another token was put in its place in between; try again.',
  });
}
