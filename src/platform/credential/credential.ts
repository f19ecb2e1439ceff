/** The platform's credential, wired: vault, rotation, recovery, and what it needs without anybody asking. */
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import type { Config } from '../../config/load.js';
import { tokenRequestOf } from '../../config/token-request.js';
import type { Clock } from '../../lib/clock.js';
import type { Repeated } from '../../lib/repeat.js';
import type { Store } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import type { InterpretRules } from '../interpret.js';
import { bootstrapToken } from './bootstrap-token.js';
import { createEvidence } from './evidence.js';
import { createExpiryWarning } from './expiry-warning.js';
import { createVaultKeeper, type VaultKeeper } from './keeper.js';
import { type Minted, mintToken } from './mint.js';
import { type Outlook, outlookOf } from './outlook.js';
import { type ProbeOptions, probeToken } from './probe.js';
import { createReferenceReports, type ReferenceReports } from './reference-reports.js';
import { createRenewal } from './renewal.js';
import { createRotation, type Rotation } from './rotation.js';
import type { Sealer } from './seal.js';
import { createTokenFile, type TokenFileOptions } from './token-file.js';
import { createTokenRecovery, type TokenRecovery } from './token-recovery.js';
import { startUpkeep } from './upkeep.js';
import { askPlatform, type TokenProof, type VerifyOptions } from './verify-token.js';
import { createSight, type SightOptions } from './visibility-check.js';

const DAY_MS = 86_400_000;
const TOKEN = 'PLATFORM_TOKEN';

export interface CredentialOptions {
  readonly config: Config;
  readonly store: Store;
  readonly registry: Registry;
  readonly sealer: Sealer;
  readonly pepper: () => Buffer;
  readonly agent: Dispatcher;
  readonly rules: InterpretRules;
  readonly countRows: SightOptions['countRows'];
  readonly saysError: ProbeOptions['saysError'];
  /** Reports that a working token should be able to ask for: paths and queries below the base URL. */
  readonly guessReports: () => readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Credential {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly tokenRecovery: TokenRecovery;
  readonly referenceReports: ReferenceReports;
  outlook(): Outlook;
  /**
   * Asks the platform by the active token, as a rotation does, and remembers what it says of it.
   * @throws GatewayError `credential_unavailable` without an active token; SealError
   */
  proveActive(): Promise<TokenProof>;
  /** What {@link start} does once: plants the seed, and makes sure there is an active token. */
  establish(): Promise<void>;
  /**
   * Way 1 is planted, way 2 is minted when nothing is active; without either the gateway waits for an operator. From
   * then on it is kept up.
   */
  start(): Promise<Pick<Repeated, 'stop'>>;
}

export function createCredential(options: CredentialOptions): Credential {
  const { config, store, registry, sealer, clock, logger } = options;
  const leases = store.registryLeases;
  const referenceReports = createReferenceReports(store.documents, clock);
  const keeper = createVaultKeeper({ registry, sealer, clock, logger });
  const mint = minterOf(options);
  const canMint = mint !== null;
  const verify = verifyOptions(options, referenceReports);
  const { pepper } = options;
  const rotation = createRotation({ keeper, pepper, clock, mintToken: mint, ...verify });
  const evidence = createEvidence({ keeper, clock, logger });
  const tokenRecovery = createTokenRecovery({ keeper, rotation, evidence, canMint, leases, clock, logger });
  const renewBeforeMs = canMint ? config.platform.renewBeforeDays * DAY_MS : null;
  const outlook = () =>
    outlookOf(keeper.vault(), { nowMs: clock.now(), proof: evidence.proof(), renewBeforeMs });

  /** @returns the token that was planted, or null when none is set */
  async function establish(): Promise<string | null> {
    const planted = await plant(options, keeper, rotation);
    if (!(await tokenRecovery.ensure())) {
      logger.error(
        'there is no platform token, so the platform cannot be asked; give one by dsp-gateway token rotate, or set PLATFORM_TOKEN or the token request',
      );
    }
    return planted;
  }

  return {
    keeper,
    rotation,
    tokenRecovery,
    referenceReports,
    outlook,
    async proveActive() {
      const { id, secret } = keeper.active();
      const { targets, configured, guesses } = await verify.probeTargets();
      const all = configured ? targets : [...targets, ...guesses];
      const proof = await askPlatform(secret, all, verify.probe);
      if (proof.outcome !== 'unknown') evidence.note(id, proof.outcome);
      return proof;
    },
    async establish() {
      await establish();
    },
    async start() {
      const planted = await establish();
      const parts = { keeper, rotation, leases, clock, logger };
      return startUpkeep({
        jobs: {
          ...(renewBeforeMs === null ? {} : { renewal: createRenewal({ ...parts, renewBeforeMs }) }),
          ...fileJob(planted, options, parts),
          referenceReports: referenceReports.flush,
          evidence: evidence.flush,
          warning: createExpiryWarning({ registry, keeper, outlook, logger }),
        },
        logger,
      });
    },
  };
}

function verifyOptions(options: CredentialOptions, referenceReports: ReferenceReports): VerifyOptions {
  const { agent, rules, countRows, saysError, clock, guessReports } = options;
  const { probe, timeoutMs, maxAnswerBytes } = options.config.platform;
  return {
    async probeTargets() {
      if (probe !== undefined) return { targets: [probe], configured: true, guesses: [] };
      const targets = (await referenceReports.list()).map(({ target }) => target);
      return { targets, configured: false, guesses: guessReports() };
    },
    probe: (target, secret) =>
      probeToken(target, secret, { agent, rules, timeoutMs, saysError, nowMs: clock.now() }),
    compareSight: createSight({ agent, rules, timeoutMs, maxAnswerBytes, referenceReports, countRows }),
  };
}

/** @returns the job that follows the token's file; none when the token is not in a file */
function fileJob(
  planted: string | null,
  { config, pepper }: CredentialOptions,
  parts: Omit<TokenFileOptions, 'file' | 'planted' | 'pepper'>,
): Readonly<Record<string, () => Promise<void>>> {
  const file = config.fileSecrets.find(({ name }) => name === TOKEN);
  if (file === undefined || planted === null) return {};
  return { file: createTokenFile({ ...parts, file, planted, pepper }) };
}

/** @returns the token that was planted, or null when none is set */
async function plant(
  { config, pepper, logger }: CredentialOptions,
  keeper: VaultKeeper,
  rotation: Rotation,
): Promise<string | null> {
  const secret = config.secrets.get(TOKEN)?.read();
  if (secret === undefined) return null;
  const { tokenExpiresAt } = config.platform;
  const expiresAt = tokenExpiresAt === undefined ? null : new Date(tokenExpiresAt).toISOString();
  const source = config.fileSecrets.some(({ name }) => name === TOKEN) ? 'file' : 'seed';
  await bootstrapToken({ secret, source, expiresAt }, { keeper, rotation, pepper: pepper(), logger });
  return secret;
}

/** @returns null when there is no token request */
function minterOf({ config, agent, rules }: CredentialOptions): (() => Promise<Minted>) | null {
  const account = tokenRequestOf(config.secrets);
  if (account === null) return null;
  const { tokenPath, grantType, timeoutMs } = config.platform;
  return () => mintToken({ agent, baseUrl: rules.baseUrl, tokenPath, grantType, ...account, timeoutMs });
}
