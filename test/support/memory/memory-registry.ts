import { registryOver } from '../../../src/store/embedded/registry.js';
import type { RegistryLimits, RegistryStore } from '../../../src/store/port.js';
import type { MemoryTable } from './memory-table.js';

/** Which server, and which start of it. */
export interface ServerStart {
  id: string;
}

/** A replica's way to the registry of a server in this process, as to one in Redis. */
export function createMemoryRegistry(
  table: MemoryTable,
  server: ServerStart,
  limits: RegistryLimits,
): RegistryStore {
  const registry = registryOver(table, limits);
  let loadedFrom = '';
  let asked = '';
  return {
    ...registry,
    async load(absent) {
      asked = server.id;
      const found = await registry.load(absent);
      if (found.epoch !== '') loadedFrom = asked;
      return found;
    },
    movedOn: () => loadedFrom !== '' && asked !== '' && loadedFrom !== asked,
    // A replica that has loaded nothing yet is told all the same.
    changes: async (epoch, version) =>
      loadedFrom === '' || loadedFrom === server.id ? await registry.changes(epoch, version) : null,
  };
}
