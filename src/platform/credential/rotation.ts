/** The steps of a rotation (`docs/contract.md`, "Admin plane"), and all of them in one. */
import { TOKEN_REQUEST } from '../../config/secret.js';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { timeoutSignal } from '../../lib/time.js';
import { type Actor, GATEWAY_ACTOR } from '../../telemetry/audit.js';
import { within } from '../deadline.js';
import type { VaultKeeper } from './keeper.js';
import type { Minted } from './mint.js';
import {
  activate,
  createToken,
  discard,
  hasSeen,
  markTried,
  markVerified,
  type NewToken,
  noPending,
  renew,
  rollback,
  stage,
  type Token,
  type Vault,
} from './vault.js';
import {
  compareWithActive,
  NOT_ANSWERED,
  NOT_ASKED,
  proveToken,
  REFUSED,
  unanswered,
  type VerifyOptions,
} from './verify-token.js';

interface RotationOptions extends VerifyOptions {
  readonly keeper: VaultKeeper;
  readonly pepper: () => Buffer;
  readonly clock: Clock;
  /** Null when no token request is configured. */
  readonly mintToken: (() => Promise<Minted>) | null;
}

/** Whether a new token must see the reports that the active one sees. */
type Against = 'active' | 'nothing';

export class Rotation {
  constructor(private readonly options: RotationOptions) {}

  async stage(from: NewToken, actor: Actor): Promise<Vault> {
    return (await this.#stage(this.#tokenOf(from), actor)).vault;
  }

  /** Stages a token unless it has been in the vault. */
  plant(from: NewToken, actor: Actor): Promise<Vault> {
    const token = this.#tokenOf(from);
    return this.options.keeper.move('token.stage', actor, (vault) =>
      hasSeen(vault, token.fingerprint) ? vault : stage(vault, token),
    );
  }

  /** Requests a token and stages it. If the platform issues the active one again, only its expiry is updated. */
  async mint(actor: Actor): Promise<Vault> {
    return (await this.#mint(actor)).vault;
  }

  /**
   * Proves the pending token, within the limit.
   * @param id only this token, here and below. @throws GatewayError `conflict` if another has replaced it
   * @param mayGuess whether calls may be made that no caller has made yet
   * @param caller aborted when the caller has gone: then nothing is verified or activated, here and below
   * @throws GatewayError `verification_failed`
   */
  async verify(
    actor: Actor,
    id?: string,
    mayGuess = true,
    against: Against = 'active',
    caller?: AbortSignal,
  ): Promise<Vault> {
    const { pending: token, active } = this.options.keeper.vault();
    if (token === null && id === undefined) throw noPending();
    if (token === null || token.id !== (id ?? token.id)) throw superseded();
    let proof: object;
    try {
      proof = await this.#inTime(caller, async (signal) => {
        const { target, reason } = await proveToken(token, active, mayGuess, this.options, signal);
        const activeNow = against === 'active' ? this.options.keeper.vault().active : null;
        const reportsCompared = await compareWithActive(token, activeNow, this.options, signal);
        return { call: target, reason, reportsCompared };
      });
    } catch (error) {
      // Without a call nothing is known of the token.
      if (isUnverified(error) && error.options.internal !== NOT_ASKED) {
        const reason = error.options.detail;
        await this.options.keeper.note('token.verify', actor, token.id, { verified: false, reason });
      }
      throw error;
    }
    const step = (vault: Vault): Vault => {
      refuseGone(caller);
      if (vault.pending?.id !== token.id) throw superseded();
      return markVerified(vault, token.id, this.options.clock.now());
    };
    return this.options.keeper.move('token.verify', actor, step, { proof });
  }

  activate(force: boolean, actor: Actor, id?: string, caller?: AbortSignal): Promise<Vault> {
    const step = (vault: Vault): Vault => {
      refuseGone(caller);
      if (id !== undefined && vault.active?.id === id) return vault;
      if (id !== undefined && vault.pending?.id !== id) throw superseded();
      return activate(vault, force, this.options.clock.now());
    };
    const { keeper } = this.options;
    return this.#orNote('token.activate', actor, id ?? keeper.vault().pending?.id, () =>
      keeper.move('token.activate', actor, step),
    );
  }

  /**
   * Goes back to the previous token, if the platform accepts it now.
   * @param force also if it does not; the token is then not verified, or refused
   * @throws GatewayError `conflict`, `verification_failed`: the active token stays. StoreUnavailable
   */
  rollback(force: boolean, actor: Actor, caller?: AbortSignal): Promise<Vault> {
    const { keeper, clock } = this.options;
    const before = keeper.vault();
    const id = before.previous?.id;
    const back = (vault: Vault): Vault => {
      refuseGone(caller);
      if (vault.previous?.id !== id) throw superseded();
      return rollback(vault, force, clock.now());
    };
    return this.#orNote('token.rollback', actor, id, async () => {
      const { outcome, ...why } = await this.#tryPrevious(back(before), force, caller);
      return keeper.move(
        'token.rollback',
        actor,
        (vault) => markTried(back(vault), 'active', outcome, clock.now()),
        why,
      );
    });
  }

  /** @param vault with it as the active one. @throws GatewayError `verification_failed` unless accepted or forced */
  async #tryPrevious({ active, previous }: Vault, force: boolean, caller?: AbortSignal) {
    // That it was minted proves nothing any more.
    const token = { ...(active as Token), source: 'staged' } as const;
    try {
      const { target, reason } = await this.#inTime(caller, (signal) =>
        proveToken(token, previous, !force, this.options, signal),
      );
      return { outcome: 'accepted', proof: { call: target, reason, reportsCompared: 0 } } as const;
    } catch (error) {
      if (!isUnverified(error)) throw error;
      refuseGone(caller);
      const outcome = error.options.internal === REFUSED ? 'refused' : 'unknown';
      if (force) return { outcome } as const;
      const mark = (vault: Vault) =>
        vault.previous?.id === token.id
          ? markTried(vault, 'previous', outcome, this.options.clock.now())
          : vault;
      if (outcome === 'refused') await this.options.keeper.move('token.refused', GATEWAY_ACTOR, mark);
      throw notBack(error, token);
    }
  }

  /** A refused step is audited too. @param id of the token that it is about; undefined: there is none */
  async #orNote(
    action: string,
    actor: Actor,
    id: string | undefined,
    step: () => Promise<Vault>,
  ): Promise<Vault> {
    const { keeper } = this.options;
    try {
      return await step();
    } catch (error) {
      if (error instanceof GatewayError && error.status === 409)
        await keeper.note(action, actor, id ?? 'vault', { failed: true, reason: error.options.detail });
      throw error;
    }
  }

  discard(actor: Actor): Promise<Vault> {
    return this.options.keeper.move('token.discard', actor, discard);
  }

  /**
   * Stages a token (or mints one) and verifies it. A token that cannot be verified is discarded, except one that was given
   * while the platform does not answer: it stays pending.
   * @param force keeps an unverified token
   * @returns the id of the pending token; null if the platform issued the active token again
   */
  async prepare(
    from: NewToken | null,
    force: boolean,
    actor: Actor,
    against: Against = 'active',
    caller?: AbortSignal,
  ): Promise<string | null> {
    const { token, vault } =
      from === null ? await this.#mint(actor) : await this.#stage(this.#tokenOf(from), actor);
    const { id } = token;
    if (vault.pending?.id !== id) return null;
    try {
      // With `force` the token is activated anyway: no guessed calls.
      await this.verify(actor, id, !force, against, caller);
    } catch (error) {
      if (!isUnverified(error)) throw error;
      refuseGone(caller);
      const isSilent = error.options.internal === NOT_ANSWERED;
      if (!force && isSilent && from !== null) throw error;
      if (!force) {
        await this.options.keeper.move('token.discard', actor, (now) =>
          now.pending?.id === id ? discard(now) : now,
        );
        throw isSilent ? mintedInVain(error) : error;
      }
    }
    return id;
  }

  async rotate(from: NewToken | null, force: boolean, actor: Actor, caller?: AbortSignal): Promise<Vault> {
    const id = await this.prepare(from, force, actor, 'active', caller);
    return id === null ? this.options.keeper.vault() : this.activate(force, actor, id, caller);
  }

  async #inTime<T>(caller: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { limitMs } = this.options;
    const late = timeoutSignal(limitMs);
    const signal = caller === undefined ? late : AbortSignal.any([late, caller]);
    try {
      return await within(signal, () => work(signal));
    } catch (error) {
      refuseGone(caller);
      if (!late.aborted) throw error;
      throw unanswered(
        `the platform did not answer all calls of the verification within ${limitMs / 1000} s`,
      );
    }
  }

  #tokenOf(from: NewToken): Token {
    return createToken(from, this.options.pepper(), this.options.clock.now());
  }

  async #stage(token: Token, actor: Actor) {
    const vault = await this.options.keeper.move('token.stage', actor, (before) => stage(before, token));
    return { token, vault };
  }

  async #mint(actor: Actor) {
    const { mintToken, clock } = this.options;
    if (mintToken === null) {
      throw new GatewayError('conflict', {
        detail: 'No token request is configured.',
        help: `Give a token by POST /admin/v1/token/rotate, or set all of ${TOKEN_REQUEST.join(', ')}.`,
      });
    }
    const { secret, expiresInS } = await mintToken();
    const expiresAt = expiresInS === null ? null : new Date(clock.now() + expiresInS * 1000).toISOString();
    const token = this.#tokenOf({ secret, source: 'minted', expiresAt });
    const vault = await this.options.keeper.move('token.mint', actor, (before) =>
      before.active?.fingerprint === token.fingerprint
        ? renew(before, token.expiresAt, token.expiryKnown)
        : stage(before, token),
    );
    return { token, vault };
  }
}

function isUnverified(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.code === 'verification_failed';
}

/** @throws GatewayError `verification_failed` if the caller has gone */
function refuseGone(caller: AbortSignal | undefined): void {
  if (caller?.aborted) throw unanswered('the caller has closed the connection');
}

function mintedInVain({ options }: GatewayError): GatewayError {
  return new GatewayError('verification_failed', {
    ...options,
    detail: options.detail?.replace('the token is pending', 'the new token was discarded') ?? '',
    help: 'Repeat when the platform answers again.',
  });
}

function notBack({ options }: GatewayError, { fingerprint }: Token): GatewayError {
  const { detail = '', internal } = options;
  const hasRefused = internal === REFUSED;
  return new GatewayError('verification_failed', {
    detail: detail
      .replace('the token is pending, nothing was activated', 'the active token stays in use')
      .replace(/\b([Tt])he token\b/, `$1he previous token ${fingerprint}`),
    help: `${hasRefused ? 'Give another token by POST /admin/v1/token/rotate' : 'Repeat when the platform answers'}. Or repeat with "force": true to go back to it all the same.`,
  });
}

function superseded(): GatewayError {
  return new GatewayError('conflict', {
    detail: 'Another token has replaced it meanwhile.',
    help: 'GET /admin/v1/token shows which; repeat if yours is still wanted.',
  });
}
