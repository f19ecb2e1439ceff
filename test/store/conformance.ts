import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/port.js';
import { describeAudit } from './conformance-audit.js';
import { describeBus } from './conformance-bus.js';
import { describeCache } from './conformance-cache.js';
import { describeChanges } from './conformance-changes.js';
import { describeCharges } from './conformance-charges.js';
import { describeCounters } from './conformance-counters.js';
import { describeDays } from './conformance-days.js';
import { describeDocuments } from './conformance-documents.js';
import { describeEntries } from './conformance-entries.js';
import { describeLeases } from './conformance-leases.js';
import { describePins } from './conformance-pins.js';
import { describePresence } from './conformance-presence.js';
import { describeQuotas } from './conformance-quotas.js';
import { describeRegistry } from './conformance-registry.js';
import { describeRegistryModel } from './conformance-registry-model.js';
import { describeVersions } from './conformance-versions.js';
import { type OpenHarness, withStore } from './harness.js';

/** What `src/store/port.ts` promises, held against an adapter. */
export function describeStore(kind: Store['kind'], open: OpenHarness, name: string = kind): void {
  describe(`${name}: the store port`, () => {
    it('says what it is and that it is well', () =>
      withStore(open, async ({ store }) => {
        expect(store.kind).toBe(kind);
        await expect.poll(() => store.health()).toEqual({ ok: true });
      }));

    describeCache(open);
    describeVersions(open);
    describeEntries(open);
    describeDays(open);
    describeChanges(open);
    describePins(open);
    describeLeases(open);
    describeRegistry(open);
    describeAudit(open);
    describeRegistryModel(open);
    describeCounters(open);
    describeCharges(open);
    describeDocuments(open);
    describeQuotas(open);
    describePresence(open);
    describeBus(open);
  });
}
