/** Sessions of `dsp-gateway login`, by gateway, in a file that only its owner can read. */
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import Type from 'typebox';
import type { Environment } from '../config/rules.js';
import { type RecordOf, recordForm } from '../lib/record.js';
import { CommandError, EXIT } from './command-error.js';

const Saved = Type.Object({
  token: Type.String(),
  name: Type.String(),
  expiresAt: Type.String(),
});
const SessionFile = recordForm(Type.Object({ sessions: Type.Record(Type.String(), Saved) }));
export type SavedSession = RecordOf<typeof SessionFile>['sessions'][string];

export function sessionFile(env: Environment): string {
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return join(folder, 'dsp-gateway', 'sessions.json');
}

/** @throws CommandError if others can read the file, or it is damaged */
function readAll(path: string): Readonly<Record<string, SavedSession>> {
  let text: string;
  try {
    // Windows has no such bits.
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      throw new CommandError(
        `${path} holds sessions and can be read by other users of this machine; run: chmod 600 ${path}`,
        EXIT.denied,
      );
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error instanceof CommandError ? error : cannot('read', path, error as Error);
  }
  const file = SessionFile.parse(text);
  if (file !== null) return file.sessions;
  throw new CommandError(`${path} is damaged; remove it and run: dsp-gateway login`, EXIT.data);
}

/** @param base address of the admin plane. @returns null: there is none. @throws CommandError */
export function savedSession(base: string, env: Environment): SavedSession | null {
  return readAll(sessionFile(env))[base] ?? null;
}

/** @param session null: forgets it. @throws CommandError */
export function saveSession(base: string, session: SavedSession | null, env: Environment): void {
  const path = sessionFile(env);
  const { [base]: _before, ...others } = readAll(path);
  const sessions = session === null ? others : { ...others, [base]: session };
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify({ sessions }, null, 2)}\n`, { mode: 0o600 });
    // The mode of an existing draft would stay.
    chmodSync(draft, 0o600);
    renameSync(draft, path);
  } catch (error) {
    throw cannot('written', path, error as Error);
  }
}

function cannot(what: 'read' | 'written', path: string, { message }: Error): CommandError {
  return new CommandError(`${path} cannot be ${what} (${message})`, EXIT.output);
}
