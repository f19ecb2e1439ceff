/** A changed list of master keys has to open what is stored. */
import { VAULT_RECORD } from '../credential/keeper.js';
import { createSealer, SealError } from '../credential/seal.js';
import { readVault } from '../credential/vault-text.js';
import type { Registry } from '../registry/replica.js';
import { PEPPER_RECORD, TOKEN_PEPPER_RECORD } from './pepper.js';

export interface MasterKeyFault {
  readonly was: string;
  readonly allowed: string;
}

/**
 * Without it, an exchanged key would seal from now on what nobody else opens, while what is stored stays under the
 * one before: half of the store under each.
 */
export function opensWhatIsStored(registry: Pick<Registry, 'get'>): (value: string) => MasterKeyFault[] {
  return (value) => {
    const sealer = createSealer({ name: 'GATEWAY_MASTER_KEY', read: () => value, onChange: () => {} });
    const vault = registry.get(VAULT_RECORD);
    const peppers = [registry.get(PEPPER_RECORD), registry.get(TOKEN_PEPPER_RECORD)];
    try {
      for (const pepper of peppers) if (pepper !== undefined) sealer.open(pepper.value, PEPPER_RECORD);
      if (vault !== undefined) readVault(vault.value, sealer);
      return [];
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      return [
        {
          was: `no key that opens what is stored (${error.message})`,
          allowed:
            'a list with the key in use: put the new key before it, run dsp-gateway token reseal, then take the old one out',
        },
      ];
    }
  };
}
