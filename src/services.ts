/**
 * Everything behind the planes, made once and passed down: registry, vault, cache, platform. No server, no routes.
 */
import { createDirectory, type Directory } from './auth/directory.js';
import { createIdentify, type Identify } from './auth/identify.js';
import { createLastUse, type LastUse } from './auth/last-use.js';
import { opensWhatIsStored } from './auth/master-key-rule.js';
import { ensurePepper, openPepper, tokenPepper } from './auth/pepper.js';
import { createSlowFailures, type SlowFailures } from './auth/slow-failures.js';
import { successionRules } from './auth/succession-rules.js';
import { createL1, type L1 } from './cache/l1.js';
import { createPurges, type Purges } from './cache/purges.js';
import type { MovableClock } from './clock.js';
import type { Config, ProxySettings } from './config/load.js';
import type { Secret, SecretFileFault } from './config/secret.js';
import { type Credential, createCredential } from './credential/credential.js';
import { createSealer, type Sealer } from './credential/seal.js';
import { createEngine, type Engine } from './engine.js';
import type { Gateway } from './gateway.js';
import { createGatewayHealth, watchHealth } from './health.js';
import { createLimits, type Limits } from './limits/limits.js';
import { createIdempotency, type Idempotency } from './pass-through/idempotency.js';
import { countRowsOf } from './pipeline/reference-reports.js';
import type { Finished } from './pipeline/render.js';
import { createAgent } from './platform/agent.js';
import { createPlatformClient, type PlatformClient } from './platform/client.js';
import { createTraffic, type Traffic } from './platform/traffic.js';
import { openRegistry, type Registry } from './registry/mirror.js';
import { migrateRegistry } from './registry/schema.js';
import { followSharedClock, type SharedClock } from './registry/shared-clock.js';
import { onAnotherRegistry } from './registry/stand-up.js';
import type { CanonicalRules } from './report/canonicalize.js';
import type { Store } from './store/port.js';
import type { Health } from './telemetry/health.js';
import type { Log } from './telemetry/logger.js';
import { createMetrics, type Metrics } from './telemetry/metrics.js';
import { recallShares } from './usage/recall-shares.js';
import { createUsage, type Usage } from './usage/usage.js';
import type { UsageField } from './usage/usage-day.js';
import { VERSION } from './version.js';

export interface ServicesOptions {
  readonly config: Config;
  readonly store: Store;
  readonly clock: MovableClock;
  readonly log: Log;
  readonly masterKey: Secret;
  readonly proxy: ProxySettings;
  /** How long replicas that live are given to put a lost registry back, before a new one is begun; 0 when absent. */
  readonly graceMs?: number;
  /** Files of secrets whose present content is not in use. */
  readonly secretFaults?: () => readonly SecretFileFault[];
}

export interface Services
  extends Pick<Credential, 'keeper' | 'rotation' | 'healer' | 'witnesses' | 'outlook'>,
    Omit<Traffic, 'turns'> {
  readonly config: Config;
  readonly store: Store;
  readonly clock: MovableClock;
  readonly log: Log;
  readonly secretFaults: () => readonly SecretFileFault[];
  readonly registry: Registry;
  readonly sealer: Sealer;
  readonly directory: Directory;
  readonly lastUse: LastUse;
  readonly slowFailures: SlowFailures;
  readonly purges: Purges;
  readonly platform: PlatformClient;
  readonly idempotency: Idempotency;
  readonly usage: Usage;
  readonly limits: Limits;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly engine: Engine;
  /** Set where GATEWAY_TEST_CLOCK allows to move the clock. */
  readonly sharedClock: SharedClock | null;
  readonly gateway: Gateway;
  readonly identify: Identify;
  readonly canonical: CanonicalRules;
  readonly accountPattern: RegExp;
  readonly l1: L1<Finished>;
  /** Runs `work` when another registry has taken the place of the one known. @param failed said when it fails */
  onAnotherRegistry(failed: string, work: () => Promise<void>): void;
  /** Waits for work that outlives its request. */
  settled(): Promise<void>;
  /** Breaks off what is still under way to the platform, and lets go of everything but the store. */
  close(): Promise<void>;
}

/** @throws StoreUnavailable, SealError when the registry cannot be read or opened */
export async function createServices(options: ServicesOptions): Promise<Services> {
  const { config, store, clock, log, masterKey, secretFaults = () => [] } = options;
  const { logger } = log;
  const sealer = createSealer(masterKey);
  const { graceMs = 0 } = options;
  const rulesOfSuccession = successionRules(sealer);
  const registry = await openRegistry({ store, clock, logger, graceMs, rules: rulesOfSuccession });
  await migrateRegistry(registry, { clock, logger });
  const sharedClock = config.testClock ? followSharedClock(registry, clock) : null;
  const pepper = await openPepper(registry, sealer);
  for (const file of config.fileSecrets)
    if (file.name === masterKey.name) file.hold(opensWhatIsStored(registry));
  const directory = createDirectory(registry, pepper);
  const purges = createPurges(registry);
  const agent = createAgent({
    proxy: options.proxy,
    connections: config.platform.maxConcurrent + WRITE_SOCKETS,
  });
  const rules = { baseUrl: new URL(config.platform.baseUrl), loginPaths: config.platform.loginPaths };
  const credential = createCredential({
    config,
    store,
    registry,
    sealer,
    pepper: tokenPepper(registry, sealer, pepper),
    agent,
    rules,
    countRows: (body, witness) => countRowsOf(body, witness, config.report),
    clock,
    logger,
  });
  const { keeper, rotation, healer, witnesses, outlook } = credential;
  const usage = createUsage({ tallies: store.tallies, clock, logger });
  const health: Health = createGatewayHealth(() => ({ l1, budget }));
  const self = { id: health.id, info: () => JSON.stringify(health.own()) };
  const limits = createLimits({ store, clock, logger, teamOf: directory.team, self });
  const traffic = createTraffic({
    settings: config.platform,
    replicas: limits.replicas,
    bus: store.bus,
    clock,
    logger,
  });
  const { pace, budget, streamPlaces, circuit, pause } = traffic;
  const l1 = createL1<Finished>(config.cache.l1MaxBytes);
  const metrics = createMetrics({
    token: outlook,
    storeOk: () => store.health().ok,
    storeFull: () => store.memory?.().full === true,
    l1: () => l1,
    budget: () => budget,
    pauseMs: () => pause.leftMs(),
    paceMs: () => pace.waitMs(),
    circuitOpen: () => circuit.isOpen,
    replicas: () => limits.replicas.count,
    registryLost: () => registry.loss !== null,
    secretFaults: () => secretFaults().length,
    log: log.health,
  });
  const platform = createPlatformClient({
    agent,
    rules,
    tokens: healer,
    budget,
    pause,
    circuit,
    pace,
    shares: limits.shares,
    clock,
    logger,
    retry: config.platform.retry,
    userAgent: `dsp-gateway/${VERSION}`,
    onCall: (call) => {
      metrics.platformCall(call);
      usage.add(call.team, ONE_CALL);
    },
  });
  const lastUse = createLastUse({ tallies: store.tallies, clock, logger });
  const identify = createIdentify({
    directory,
    registry,
    clock,
    maxStaleMs: config.auth.maxStaleSeconds * 1000,
    onUse: lastUse.note,
  });
  const idempotency = createIdempotency({
    notes: store.notes,
    now: clock.now,
    logger,
    callMs: config.platform.timeoutMs,
  });
  const engine = createEngine({
    config,
    store,
    clock,
    log,
    registry,
    purges,
    platform,
    identify,
    turns: traffic.turns,
    limits: limits.teams,
    l1,
    metrics,
    onReport: witnesses.note,
  });
  watchHealth(health, { store, registry, outlook, pause, circuit, replicas: limits.replicas });
  await recallShares(limits.shares, usage, logger);
  const upkeep = await credential.start();
  registry.onLoss(metrics.registryLoss);
  const onAnother: Services['onAnotherRegistry'] = (failed, work) =>
    onAnotherRegistry({ registry, logger, failed }, work);
  onAnother('pepper and token could not be made', async () => {
    await migrateRegistry(registry, { clock, logger });
    await ensurePepper(registry, sealer);
    await credential.establish();
  });

  return {
    config,
    store,
    clock,
    log,
    secretFaults,
    registry,
    sealer,
    directory,
    lastUse,
    slowFailures: createSlowFailures(clock),
    purges,
    keeper,
    rotation,
    healer,
    witnesses,
    outlook,
    platform,
    idempotency,
    usage,
    limits,
    budget,
    streamPlaces,
    pause,
    pace,
    circuit,
    metrics,
    health,
    engine,
    sharedClock,
    gateway: engine.gateway,
    identify,
    canonical: engine.canonical,
    accountPattern: engine.canonical.accountPattern,
    l1,
    onAnotherRegistry: onAnother,
    async settled() {
      await engine.settled();
      await idempotency.settled();
    },
    async close() {
      const kept = upkeep.stop();
      await engine.close();
      await limits.close();
      await usage.close();
      await lastUse.close();
      registry.stop();
      await agent.destroy();
      // What was asking the platform is broken off with the agent.
      await kept;
    },
  };
}

const ONE_CALL: ReadonlyMap<UsageField, number> = new Map([['upstreamCalls', 1]]);

/** Pass-through calls stream outside of the report budget's turns while a body is under way. */
const WRITE_SOCKETS = 64;
