/** Everything behind the planes, started: made once, passed down, and let go of in the end. No server, no routes. */
import { ensurePepper } from './auth/pepper.js';
import type { Credential } from './credential/credential.js';
import { createParts, type Parts, type PartsOptions } from './parts.js';
import { migrateRegistry } from './registry/schema.js';
import { recallShares } from './usage/recall-shares.js';

export interface Services
  extends Omit<Parts, 'agent' | 'credential'>,
    Pick<
      Credential,
      'keeper' | 'rotation' | 'tokenRecovery' | 'referenceReports' | 'outlook' | 'proveActive'
    > {
  /** Waits for work that outlives its request. */
  settled(): Promise<void>;
  /** Breaks off what is still under way to the platform, and lets go of everything but the store. */
  close(): Promise<void>;
}

/** @throws StoreUnavailable, SealError when the registry cannot be read or opened */
export async function createServices(options: PartsOptions): Promise<Services> {
  const { agent, credential, ...parts } = await createParts(options);
  const {
    registry,
    sealer,
    pipeline,
    idempotency,
    reservations,
    limits,
    usage,
    series,
    tail,
    lastUse,
    unknownWrites,
    metrics,
    clock,
  } = parts;
  const { logger } = parts.log;
  await recallShares(limits.shares, usage, logger);
  const upkeep = await credential.start();
  registry.onLoss(metrics.registryLoss);
  parts.onAnotherRegistry('pepper and token could not be made', async () => {
    await migrateRegistry(registry, clock, logger);
    await ensurePepper(registry, sealer);
    await credential.establish();
  });
  const { keeper, rotation, tokenRecovery, referenceReports, outlook, proveActive } = credential;
  return {
    ...parts,
    keeper,
    rotation,
    tokenRecovery,
    referenceReports,
    outlook,
    proveActive,
    async settled() {
      await pipeline.settled();
      await idempotency.settled();
      await reservations.settled();
    },
    async close() {
      const kept = upkeep.stop();
      await unknownWrites.stop();
      await pipeline.close();
      await limits.close();
      await usage.close();
      await series.close();
      tail.close();
      await lastUse.close();
      registry.stop();
      await agent.destroy();
      // What was asking the platform is broken off with the agent.
      await kept;
    },
  };
}
