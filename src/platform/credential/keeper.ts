/**
 * Keeps the vault in the registry: reads it, moves it from state to state, and never lets two replicas move it at
 * once. Every move is audited in the same transaction.
 */
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { type Actor, auditLine } from '../../telemetry/audit.js';
import type { Sealer } from './seal.js';
import { dropExpired, EMPTY_VAULT, isOver, showToken, type Token, type Vault } from './vault.js';
import { readVault, writeVault } from './vault-text.js';

export const VAULT_RECORD = 'vault';

export interface VaultKeeper {
  /** The vault as known now, without a previous token whose time is over. @throws SealError */
  vault(): Vault;
  /** The token to ask the platform with. @throws GatewayError `credential_unavailable`; SealError */
  active(): Token;
  /**
   * Moves the vault. `move` may be called again when another replica moved it in between; when it gives the vault
   * back as it was, nothing is written.
   * @param action for the audit, e.g. `token.activate`
   * @param why what the audit tells beside the tokens, without secrets
   * @throws GatewayError `conflict` when others kept moving it; StoreUnavailable, SealError
   */
  move(action: string, actor: Actor, move: (vault: Vault) => Vault, why?: object): Promise<Vault>;
  /** Writes a step into the audit that changed nothing, e.g. because it failed. @throws StoreUnavailable */
  note(action: string, actor: Actor, subject: string, after: object): Promise<void>;
  /** Fetches what other replicas did, instead of at the next poll. @throws StoreUnavailable */
  refresh(): Promise<void>;
  /** Calls back whenever the vault changed, by whomever. */
  onChange(listener: () => void): void;
}

export interface VaultKeeperOptions {
  readonly registry: Registry;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createVaultKeeper({ registry, sealer, clock, logger }: VaultKeeperOptions): VaultKeeper {
  let opened: { readonly text: string; readonly vault: Vault } | null = null;

  function vault(): Vault {
    const text = registry.get(VAULT_RECORD)?.value;
    if (text === undefined) return EMPTY_VAULT;
    if (opened?.text !== text) opened = { text, vault: readVault(text, sealer) };
    return dropExpired(opened.vault, clock.now());
  }

  async function move(
    action: string,
    actor: Actor,
    step: (vault: Vault) => Vault,
    why: object = {},
  ): Promise<Vault> {
    let [after, moved] = [vault(), false];
    const change = () => {
      const before = vault();
      after = step(before);
      moved = after !== before;
      if (!moved) return null;
      const states = { before: shown(before), after: { ...shown(after), ...why } };
      const event = { action, subject: subjectOf(before, after), ...states };
      return { text: writeVault(after, sealer), audit: [auditLine(event, actor, clock.now())] };
    };
    await updateRecord(registry, VAULT_RECORD, change, 'The token was');
    if (moved) logger.info({ action, actor: actor.name, ...shownIds(after) }, 'the token vault changed');
    return after;
  }

  return {
    vault,
    move,
    async note(action, actor, subject, after) {
      const line = auditLine({ action, subject, after }, actor, clock.now());
      await registry.commit({ writes: new Map(), audit: [line] });
    },
    active() {
      const token = vault().active;
      if (token === null) throw unavailable('there is no active token');
      if (isOver(token, clock.now())) throw unavailable('the active token has expired');
      return token;
    },
    refresh: registry.refresh,
    onChange: (listener) => registry.onChange(VAULT_RECORD, listener),
  };
}

function unavailable(internal: string): GatewayError {
  return new GatewayError('credential_unavailable', { internal, retryAfterS: 30 });
}

function shown(vault: Vault): object {
  return {
    active: showToken(vault.active),
    pending: showToken(vault.pending),
    previous: showToken(vault.previous),
  };
}

function shownIds(vault: Vault): object {
  return {
    active: vault.active?.id ?? null,
    pending: vault.pending?.id ?? null,
    previous: vault.previous?.id ?? null,
  };
}

/** The token a move is about: the one that entered a slot, or left it. */
function subjectOf(before: Vault, after: Vault): string {
  const changed = after.active !== before.active ? after.active : (after.pending ?? before.pending);
  return changed?.id ?? 'vault';
}
