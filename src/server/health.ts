/** What each part of the gateway's health may suffer from, and from whom other processes are heard of. */

import { randomId } from '../lib/chance.js';
import type { Budget } from '../platform/budget.js';
import type { Circuit } from '../platform/circuit.js';
import type { VaultKeeper } from '../platform/credential/keeper.js';
import type { Outlook } from '../platform/credential/outlook.js';
import { SealError } from '../platform/credential/seal.js';
import type { Pause } from '../platform/pause.js';
import type { Store } from '../store/port.js';
import type { Registry } from '../store/registry/replica.js';
import type { Replicas } from '../teams/limits/replicas.js';
import { createHealth, type Health, type HeldToken, readProcessHealth } from '../telemetry/health.js';

/** @param read asked only later: what is measured is made after the health that tells of it */
export function createGatewayHealth(
  read: () => {
    readonly l1: { readonly bytes: number; readonly entries: number };
    readonly budget: Pick<Budget, 'running' | 'queued'>;
  },
): Health {
  return createHealth(randomId(), () => {
    const { l1, budget } = read();
    return {
      l1Bytes: l1.bytes,
      l1Entries: l1.entries,
      callsRunning: budget.running,
      callsQueued: budget.queued,
    };
  });
}

export interface Watched {
  readonly store: Pick<Store, 'health' | 'memory'>;
  readonly registry: Pick<Registry, 'loss'>;
  readonly outlook: () => Outlook;
  readonly pause: Pick<Pause, 'leftMs'>;
  readonly circuit: Pick<Circuit, 'isOpen' | 'leftMs'>;
  readonly replicas: Pick<Replicas, 'others'>;
  readonly isPaged: () => boolean;
}

/** A new fault: a line here, and its place among the texts of `telemetry/health.ts`. */
export function watchHealth(
  health: Health,
  { store, registry, outlook, pause, circuit, replicas, isPaged }: Watched,
): void {
  // The reason may name an address: it is for the log and the admin plane's status.
  health.watch('store', () => {
    const { ok, slow = false } = store.health();
    if (ok) return null;
    return slow ? 'slow' : 'away';
  });
  health.watch('store', () => (registry.loss === null ? null : 'registry lost'));
  health.watch('store', () => (store.memory?.().full === true ? 'out of memory' : null));
  health.watch('credential', () => outlook().state);
  health.watch('platform', () => {
    const leftMs = pause.leftMs();
    return leftMs > 0 ? `paused for ${Math.ceil(leftMs / 1000)} s` : null;
  });
  health.watch('platform', () => {
    if (!circuit.isOpen) return null;
    const leftS = Math.ceil(circuit.leftMs() / 1000);
    return `failing; asked again ${leftS > 0 ? `in ${leftS} s` : 'by the next call'}`;
  });
  health.watch('platform', () => (isPaged() ? 'answers in pages' : null));
  health.hear(() => replicas.others.flatMap(({ info }) => readProcessHealth(info) ?? []));
}

/** Which token this process asks with, and since when: looked at with each beat, and whenever the vault changes. */
export function heldToken(
  keeper: Pick<VaultKeeper, 'vault' | 'onChange'>,
  now: () => number,
): () => HeldToken {
  let held: HeldToken = { tokenId: null, tokenSince: null };
  const look = () => {
    try {
      const tokenId = keeper.vault().active?.id ?? null;
      if (tokenId !== held.tokenId)
        held = { tokenId, tokenSince: tokenId === null ? null : new Date(now()).toISOString() };
    } catch (error) {
      // Told by the state of the credential.
      if (!(error instanceof SealError)) throw error;
    }
    return held;
  };
  keeper.onChange(look);
  return look;
}
