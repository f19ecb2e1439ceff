/** config/compose.yaml, as far as it is read here. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { parse } from 'yaml';
import { ROOT } from '../support/processes.js';

export interface Service {
  readonly image: string;
  readonly build?: { readonly context: string };
  readonly command?: readonly string[];
  readonly env_file?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, object>> | readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
}

export interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** Where paths in the file begin. */
export const FOLDER = join(ROOT, 'config');

export async function readCompose(): Promise<Compose> {
  return parse(await readFile(join(FOLDER, 'compose.yaml'), 'utf8'), { merge: true }) as Compose;
}

/** What `.env.example` sets as it is. */
export async function readExample(): Promise<{
  readonly text: string;
  readonly env: Readonly<Record<string, string>>;
}> {
  const text = await readFile(join(ROOT, '.env.example'), 'utf8');
  return { text, env: parseEnv(text) as Record<string, string> };
}
