import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Config, ConfigError, loadConfig } from '../../src/config/load.js';
import type { Environment } from '../../src/config/rules.js';

/** The one setting that has no default. */
export const BASE: Environment = { PLATFORM_BASE_URL: 'https://platform.example' };

/** A folder of this test, removed with it. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'dgw-config-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

/** @returns the path of a file with this text */
export function file(text: string, name = 'settings.yaml'): string {
  const path = join(folder(), name);
  writeFileSync(path, text);
  return path;
}

/** Loads from exactly this environment and this YAML. */
export function load(env: Environment = BASE, yaml = ''): Config {
  return loadConfig({ GATEWAY_CONFIG: file(yaml), ...env });
}

/** @returns the faults of a start that is refused. @throws when it is not */
export function faultsOf(env: Environment = BASE, yaml = ''): readonly string[] {
  let config: Config;
  try {
    config = load(env, yaml);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  throw new Error(`was accepted: ${JSON.stringify(config)}`);
}

/** The value at a place such as `server.port`. */
export function at(config: Config, path: string): unknown {
  return path.split('.').reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], config);
}

/** Each fault tells the setting, what it was, and what is allowed, in one line. */
export const FAULT_LINE = /^[A-Za-z_][A-Za-z0-9_.]*: was .+; allowed is .+$/;
