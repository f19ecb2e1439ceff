/**
 * The vault as a record of the registry, changed by one replica at a time. Each change is audited in the same transaction.
 * Stored tokens are sealed, each bound to its id and slot.
 */
import type { Logger } from 'pino';
import Type, { type Static } from 'typebox';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { type Frozen, type RecordOf, recordForm } from '../../lib/record.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { type Actor, auditLine, noteEvent } from '../../telemetry/audit.js';
import { SealError, type Sealer } from './seal.js';
import {
  dropExpired,
  EMPTY_VAULT,
  isOver,
  KnownToken,
  SLOTS,
  type Slot,
  showToken,
  type Token,
  type Vault,
} from './vault.js';

export const VAULT_RECORD = 'vault';

const StoredToken = Type.Object({ ...KnownToken.properties, sealed: Type.String() });
type StoredToken = Frozen<Static<typeof StoredToken>>;

const slot = Type.Union([StoredToken, Type.Null()]);
const StoredVault = recordForm(
  Type.Object({
    active: slot,
    pending: slot,
    previous: slot,
    seen: Type.Array(Type.String()),
    recoveredAt: Type.Array(Type.String()),
  }),
);

const context = (id: string, slot: Slot) => `token:${id}:${slot}`;

export function writeVault(vault: Vault, sealer: Sealer): string {
  const sealSlot = (slot: Slot): StoredToken | null => {
    const token = vault[slot];
    if (token === null) return null;
    const { secret, ...shown } = token;
    return { ...shown, sealed: sealer.seal(Buffer.from(secret), context(token.id, slot)) };
  };
  const stored: RecordOf<typeof StoredVault> = { ...vault, ...eachSlot(sealSlot) };
  return JSON.stringify(stored);
}

/** @throws SealError if a token cannot be opened: wrong master key, damage, or a token moved between slots */
export function readVault(text: string, sealer: Sealer): Vault {
  const stored = StoredVault.parse(text);
  if (stored === null) throw new SealError('the record of the token vault is damaged');
  const openSlot = (slot: Slot): Token | null => {
    const token = stored[slot];
    if (token === null) return null;
    const { sealed, ...shown } = token;
    return { ...shown, secret: sealer.open(sealed, context(token.id, slot)).toString() };
  };
  return { ...stored, ...eachSlot(openSlot) };
}

const eachSlot = <T>(of: (slot: Slot) => T): Record<Slot, T> => ({
  active: of('active'),
  pending: of('pending'),
  previous: of('previous'),
});

export type VaultKeeper = ReturnType<typeof createVaultKeeper>;

export function createVaultKeeper({
  registry,
  sealer,
  clock,
  logger,
}: {
  readonly registry: Registry;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  let opened: { readonly text: string; readonly vault: Vault } | null = null;

  /** Without an expired previous token. @throws SealError */
  function vault(): Vault {
    const text = registry.get(VAULT_RECORD)?.value;
    if (text === undefined) return EMPTY_VAULT;
    if (opened?.text !== text) opened = { text, vault: readVault(text, sealer) };
    return dropExpired(opened.vault, clock.now());
  }

  return {
    vault,
    /** @throws GatewayError `credential_unavailable`; SealError */
    active(): Token {
      const token = vault().active;
      if (token === null) throw unavailable('there is no active token');
      if (isOver(token, clock.now())) throw unavailable('the active token has expired');
      return token;
    },
    /**
     * Changes the vault.
     * @param action for the audit, e.g. `token.activate`
     * @param step called again if another replica changed the vault in between. If it returns its argument, nothing is written
     * @param why further members of the audit line, without secrets
     * @throws GatewayError `conflict` after several conflicts; StoreUnavailable, SealError
     */
    async move(
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
      const ids = eachSlot((slot) => after[slot]?.id ?? null);
      if (moved) logger.info({ action, actor: actor.name, ...ids }, 'token vault changed');
      return after;
    },
    /** Audits a step without a change, e.g. a failed one. @throws StoreUnavailable */
    async note(action: string, actor: Actor, subject: string, after: object): Promise<void> {
      await noteEvent({ registry, clock }, { action, subject, after }, actor);
    },
    /** Reads changes of other replicas now, instead of at the next poll. @throws StoreUnavailable */
    refresh: registry.refresh,
    /** Calls back after each change, of this or another replica. */
    onChange: (listener: () => void): void => registry.onChange(VAULT_RECORD, listener),
  };
}

function unavailable(internal: string): GatewayError {
  return new GatewayError('credential_unavailable', { internal, retryAfterS: 30 });
}

const shown = (vault: Vault) => eachSlot((slot) => showToken(vault[slot]));

/** The token that entered or left a slot. */
function subjectOf(before: Vault, after: Vault): string {
  const slot = SLOTS.find((one) => after[one] !== before[one]);
  return (slot && (after[slot] ?? before[slot])?.id) ?? 'vault';
}
