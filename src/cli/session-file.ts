/** Sessions of `dsp-gateway login`: a file for each gateway, which only its owner can read. */
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import Type, { type Static } from 'typebox';
import type { Environment } from '../config/rules.js';
import { randomId } from '../lib/chance.js';
import { recordForm } from '../lib/record.js';
import { CommandError, EXIT } from './command-error.js';

/** As the gateway gives it: also of a hostile one, whose answer is stored and shown. */
export const SavedSession = Type.Object({
  token: Type.String({ pattern: '^dgs_[A-Za-z0-9_-]{43}$' }),
  name: Type.String({ maxLength: 200 }),
  expiresAt: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' }),
});
type SavedSession = Static<typeof SavedSession>;
const SessionFile = recordForm(SavedSession);

/** @param base address of the admin plane */
export function sessionFile(base: string, env: Environment): string {
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  const { host } = new URL(base);
  const name = `${host.replace(/[^a-z0-9.-]/g, '_')}-${hash('sha256', base, 'hex').slice(0, 8)}.json`;
  return join(folder, 'dsp-gateway', 'sessions', name);
}

/** @returns null: there is none. @throws CommandError if others can read or replace the file, or it is damaged */
export function savedSession(base: string, env: Environment): SavedSession | null {
  const path = sessionFile(base, env);
  let text: string;
  try {
    refuseOthers(path, 0o077);
    refuseOthers(dirname(path), 0o022);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error instanceof CommandError ? error : cannot('read', path, error as Error);
  }
  const session = SessionFile.parse(text);
  if (session !== null) return session;
  throw new CommandError(`${path} is damaged; remove it and run: dsp-gateway login`, EXIT.data);
}

/** @throws CommandError */
export function saveSession(base: string, session: SavedSession | null, env: Environment): void {
  const path = sessionFile(base, env);
  const folder = dirname(path);
  try {
    if (session === null) {
      rmSync(path, { force: true });
      return;
    }
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    refuseOthers(folder, 0o022);
    const draft = `${path}.${randomId()}`;
    writeFileSync(draft, `${JSON.stringify(session, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(draft, path);
  } catch (error) {
    throw error instanceof CommandError ? error : cannot('written', path, error as Error);
  }
}

/** @param bits of the mode that nobody else may have. @throws CommandError */
function refuseOthers(path: string, bits: number): void {
  // Windows has no such bits.
  if (process.platform === 'win32' || (statSync(path).mode & bits) === 0) return;
  const [what, mode] = bits === 0o022 ? ['written to', '700'] : ['read', '600'];
  throw new CommandError(
    `${path} is for sessions and can be ${what} by other users of this machine; run: chmod ${mode} ${path}`,
    EXIT.denied,
  );
}

function cannot(what: 'read' | 'written', path: string, { message }: Error): CommandError {
  return new CommandError(`${path} cannot be ${what} (${message})`, EXIT.output);
}
