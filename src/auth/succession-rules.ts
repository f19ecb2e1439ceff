/** What the gateway knows of its registry's records when another one is found in its place. */
import { VAULT_RECORD } from '../credential/keeper.js';
import { SealError, type Sealer } from '../credential/seal.js';
import { readVault } from '../credential/vault-text.js';
import type { SuccessionRules } from '../registry/succession.js';
import type { RegistryRecord } from '../store/port.js';
import { PEPPER_RECORD, TOKEN_PEPPER_RECORD } from './pepper.js';
import { isPeoples, revocationsFor, type Texts } from './revocations.js';

/** A registry that somebody restored is taken over, with what was revoked here; one that merely began anew is not. */
export function successionRules(sealer: Sealer): SuccessionRules {
  return {
    refuse(known, found) {
      if (isPeoples(known.keys()) && !isPeoples(found.keys())) return 'it holds neither teams nor keys';
      return sealFault(found, sealer);
    },
    carryOver: (known, found) => revocationsFor(textsOf(known), textsOf(found)),
  };
}

function sealFault(records: ReadonlyMap<string, RegistryRecord>, sealer: Sealer): string | null {
  const vault = records.get(VAULT_RECORD)?.value;
  const peppers = [PEPPER_RECORD, TOKEN_PEPPER_RECORD].map((id) => records.get(id)?.value);
  try {
    for (const pepper of peppers) if (pepper !== undefined) sealer.open(pepper, PEPPER_RECORD);
    if (vault !== undefined) readVault(vault, sealer);
    return null;
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return `GATEWAY_MASTER_KEY does not open it (${error.message})`;
  }
}

function textsOf(records: ReadonlyMap<string, RegistryRecord>): Texts {
  return new Map([...records].map(([id, { value }]) => [id, value]));
}
