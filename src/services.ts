/**
 * Everything behind the planes, made once and passed down: registry, vault, cache, platform. No server, no routes.
 */
import { createDirectory, type Directory } from './auth/directory.js';
import { openPepper } from './auth/pepper.js';
import { createL1, type L1 } from './cache/l1.js';
import { createPurges, type Purges } from './cache/purges.js';
import type { MovableClock } from './clock.js';
import type { Config, ProxySettings } from './config/load.js';
import type { Secret } from './config/secret.js';
import { createHealer, type Healer } from './credential/heal.js';
import { createVaultKeeper, type VaultKeeper } from './credential/keeper.js';
import { mintToken } from './credential/mint.js';
import { probeToken } from './credential/probe.js';
import { createRotation, type Rotation } from './credential/rotation.js';
import { createSealer } from './credential/seal.js';
import { plantSeed } from './credential/seed.js';
import { createEngine, type Engine } from './engine.js';
import type { Gateway } from './gateway.js';
import { createAgent } from './platform/agent.js';
import { type Budget, createBudget } from './platform/budget.js';
import { createPlatformClient, type PlatformClient } from './platform/client.js';
import { createPause, type Pause } from './platform/pause.js';
import { openRegistry, type Registry } from './registry/mirror.js';
import { followSharedClock, type SharedClock } from './registry/shared-clock.js';
import type { CanonicalRules } from './report/canonicalize.js';
import type { Finished } from './stages/finish.js';
import { createIdentify, type Identify } from './stages/identify.js';
import type { Store } from './store/port.js';
import type { Log } from './telemetry/logger.js';
import { createMetrics, type Metrics } from './telemetry/metrics.js';
import { VERSION } from './version.js';

export interface ServicesOptions {
  readonly config: Config;
  readonly store: Store;
  readonly clock: MovableClock;
  readonly log: Log;
  readonly masterKey: Secret;
  readonly proxy: ProxySettings;
}

export interface Services {
  readonly config: Config;
  readonly store: Store;
  readonly clock: MovableClock;
  readonly log: Log;
  readonly registry: Registry;
  readonly directory: Directory;
  readonly purges: Purges;
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly healer: Healer;
  readonly platform: PlatformClient;
  readonly budget: Budget;
  readonly pause: Pause;
  readonly metrics: Metrics;
  readonly engine: Engine;
  /** Set where GATEWAY_TEST_CLOCK allows to move the clock. */
  readonly sharedClock: SharedClock | null;
  readonly gateway: Gateway;
  readonly identify: Identify;
  readonly canonical: CanonicalRules;
  readonly accountPattern: RegExp;
  readonly l1: L1<Finished>;
  /** Waits for work that outlives its request. */
  settled(): Promise<void>;
  /** Breaks off what is still under way to the platform, and lets go of everything but the store. */
  close(): Promise<void>;
}

/** @throws StoreUnavailable, SealError when the registry cannot be read or opened */
export async function createServices(options: ServicesOptions): Promise<Services> {
  const { config, store, clock, log, masterKey } = options;
  const { logger } = log;
  const registry = await openRegistry({ store, clock, logger });
  const sharedClock = config.testClock ? followSharedClock(registry, clock) : null;
  const sealer = createSealer(masterKey);
  const pepper = await openPepper(registry, sealer);
  const directory = createDirectory(registry, pepper);
  const purges = createPurges(registry);
  const keeper = createVaultKeeper({ registry, sealer, clock, logger });
  const agent = createAgent({
    proxy: options.proxy,
    connections: config.platform.maxConcurrent + WRITE_SOCKETS,
  });
  const rules = { baseUrl: new URL(config.platform.baseUrl), loginPaths: config.platform.loginPaths };
  const mint = minterOf(config, agent, rules.baseUrl);
  const rotation = createRotation({
    keeper,
    pepper,
    clock,
    mintToken: mint,
    probeTarget: () => config.platform.probe ?? null,
    probe: (target, secret) =>
      probeToken(target, secret, { agent, rules, timeoutMs: config.platform.timeoutMs, nowMs: clock.now() }),
  });
  const healer = createHealer({
    keeper,
    rotation,
    canMint: mint !== null,
    leases: store.leases,
    clock,
    logger,
  });
  const budget = createBudget(config.platform.maxConcurrent, config.platform.maxQueued);
  const pause = createPause(clock, config.platform.maxPauseSeconds * 1000);
  const l1 = createL1<Finished>(config.cache.l1MaxBytes);
  const metrics = createMetrics({
    tokenExpiresAtMs: () => expiryOf(keeper),
    storeOk: () => store.health().ok,
    l1: () => l1,
    budget: () => budget,
    pauseMs: () => pause.leftMs(),
  });
  const platform = createPlatformClient({
    agent,
    rules,
    tokens: healer,
    budget,
    pause,
    clock,
    logger,
    retry: config.platform.retry,
    userAgent: `dsp-gateway/${VERSION}`,
    onCall: (call) => metrics.platformCall(call),
  });
  const identify = createIdentify({
    directory,
    registry,
    clock,
    maxStaleMs: config.auth.maxStaleSeconds * 1000,
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
    l1,
    metrics,
  });
  await startCredential(config, { keeper, rotation, healer, pepper, log });

  return {
    config,
    store,
    clock,
    log,
    registry,
    directory,
    purges,
    keeper,
    rotation,
    healer,
    platform,
    budget,
    pause,
    metrics,
    engine,
    sharedClock,
    gateway: engine.gateway,
    identify,
    canonical: engine.canonical,
    accountPattern: engine.canonical.accountPattern,
    l1,
    settled: engine.settled,
    async close() {
      await engine.close();
      registry.stop();
      await agent.destroy();
    },
  };
}

/** Pass-through calls stream outside of the report budget's turns while a body is under way. */
const WRITE_SOCKETS = 64;

function minterOf(config: Config, agent: ReturnType<typeof createAgent>, baseUrl: URL) {
  const [username, password, clientId, clientSecret] = [
    'PLATFORM_USERNAME',
    'PLATFORM_PASSWORD',
    'PLATFORM_CLIENT_ID',
    'PLATFORM_CLIENT_SECRET',
  ].map((name) => config.secrets.get(name));
  if (!username || !password || !clientId || !clientSecret) return null;
  const { tokenPath, grantType, timeoutMs } = config.platform;
  return () =>
    mintToken({
      agent,
      baseUrl,
      tokenPath,
      grantType,
      username,
      password,
      clientId,
      clientSecret,
      timeoutMs,
    });
}

function expiryOf(keeper: VaultKeeper): number | null {
  const active = keeper.vault().active;
  return active === null ? null : Date.parse(active.expiresAt);
}

interface CredentialParts {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly healer: Healer;
  readonly pepper: () => Buffer;
  readonly log: Log;
}

/** Way 1 is planted, way 2 is minted when nothing is active; without either the gateway waits for an operator. */
async function startCredential(
  config: Config,
  { keeper, rotation, healer, pepper, log }: CredentialParts,
): Promise<void> {
  const seed = config.secrets.get('PLATFORM_TOKEN')?.read();
  if (seed !== undefined) {
    const expiresAt = config.platform.tokenExpiresAt;
    const token = {
      secret: seed,
      source: 'seed' as const,
      expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    };
    await plantSeed(token, { keeper, rotation, pepper: pepper(), logger: log.logger });
  }
  if (!(await healer.ensure())) {
    log.logger.error(
      'there is no platform token; set PLATFORM_TOKEN or the token request, or stage one by POST /admin/v1/token/rotate',
    );
  }
}
