/**
 * Secrets that may change while the gateway runs: from the environment (fixed) or from a file that is re-read.
 *
 * Files are polled, not watched: a mounted Kubernetes secret is swapped by renaming a directory link, which file
 * watchers miss, and one small read a second costs nothing.
 */
import { readFileSync } from 'node:fs';
import { startTicks, stopTicks } from '../lib/time.js';
import type { SecretFault, SecretRule } from './secret-rules.js';

export interface Secret {
  /** The setting's name, for messages; never the value. */
  readonly name: string;
  /** Where it was read; absent for one of the environment. */
  readonly path?: string;
  /** The present value, trimmed of a final line break. */
  read(): string;
  /** Calls back with the new value whenever the file's content changes. */
  onChange(listener: (value: string) => void): void;
}

/** A secret that never changes. */
export function fixedSecret(name: string, value: string): Secret {
  return { name, read: () => value, onChange: () => {} };
}

export interface FileSecret extends Secret {
  readonly path: string;
  /** Holds every later change to one more rule; the present value is not looked at. */
  hold(rule: SecretRule): void;
  /** Reads the file again. One that is unreadable, empty or against a rule keeps the last value and throws. */
  refresh(): void;
}

/** @throws when the file cannot be read, is empty or is no UTF-8. Its first value is for the caller to judge */
export function fileSecret(name: string, path: string, ...first: readonly SecretRule[]): FileSecret {
  const listeners: ((value: string) => void)[] = [];
  const rules = [...first];
  let value = readSecretFile(path);
  return {
    name,
    path,
    read: () => value,
    onChange: (listener) => {
      listeners.push(listener);
    },
    hold: (rule) => {
      rules.push(rule);
    },
    refresh() {
      const next = readSecretFile(path);
      if (next === value) return;
      // A rule may rely on those before it.
      for (const rule of rules) {
        const faults = rule(next);
        if (faults.length > 0) throw new Error(faults.map((fault) => inWords(path, fault)).join('; '));
      }
      value = next;
      for (const listener of listeners) listener(next);
    },
  };
}

function inWords(path: string, { was, allowed }: SecretFault): string {
  return `the file ${path} holds ${was}; allowed is ${allowed}`;
}

function readSecretFile(path: string): string {
  const value = readUtf8(path).replace(/\r?\n$/, '');
  if (value === '') throw new Error(`the file ${path} is empty; allowed is the secret`);
  return value;
}

/** A byte order mark stays: it is no part of any secret, and is told as what it is. */
function readUtf8(path: string): string {
  const bytes = readFileSync(path);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(`the file ${path} is no UTF-8; allowed is text`);
  }
}

export interface SecretFileFault {
  /** The secret's name. */
  readonly name: string;
  /** Names the file and what is allowed, never the value. */
  readonly message: string;
}

export interface SecretWatch {
  /** Files whose present content is not in use. */
  faults(): readonly SecretFileFault[];
  stop(): void;
}

/**
 * Re-reads secret files once a second until stopped.
 * @param tell each fault once, so that an unreadable file does not fill the log; and when it is mended
 */
export function watchSecrets(
  secrets: readonly FileSecret[],
  tell: {
    readonly onFault: (name: string, error: Error) => void;
    readonly onMended: (name: string) => void;
  },
): SecretWatch {
  const failing = new Map<string, string>();
  const look = (secret: FileSecret) => {
    try {
      secret.refresh();
      if (failing.delete(secret.name)) tell.onMended(secret.name);
    } catch (error) {
      const { message } = error as Error;
      if (failing.get(secret.name) !== message) tell.onFault(secret.name, error as Error);
      failing.set(secret.name, message);
    }
  };
  const timer = startTicks(() => secrets.forEach(look), 1000);
  timer.unref();
  return {
    faults: () => [...failing].map(([name, message]) => ({ name, message })),
    stop: () => stopTicks(timer),
  };
}
