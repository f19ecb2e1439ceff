/**
 * Secrets that may change while the gateway runs: from the environment (fixed) or from a file that is re-read.
 *
 * Files are polled, not watched: a mounted Kubernetes secret is swapped by renaming a directory link, which file
 * watchers miss, and one small read a second costs nothing.
 */
import { readFileSync } from 'node:fs';

export interface Secret {
  /** The setting's name, for messages; never the value. */
  readonly name: string;
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
  /** Reads the file again. A file that is unreadable or empty right now keeps the last value and throws. */
  refresh(): void;
}

/** @throws when the file cannot be read, or is empty. */
export function fileSecret(name: string, path: string): FileSecret {
  const listeners: ((value: string) => void)[] = [];
  let value = readSecretFile(path);
  return {
    name,
    read: () => value,
    onChange: (listener) => {
      listeners.push(listener);
    },
    refresh() {
      const next = readSecretFile(path);
      if (next === value) return;
      value = next;
      for (const listener of listeners) listener(next);
    },
  };
}

function readSecretFile(path: string): string {
  const value = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  if (value === '') throw new Error(`the file ${path} is empty`);
  return value;
}

/**
 * Re-reads secret files once a second until stopped.
 * @param onError told once per fault, so that an unreadable file does not fill the log.
 */
export function watchSecrets(
  secrets: readonly FileSecret[],
  onError: (name: string, error: Error) => void,
): () => void {
  const failing = new Set<string>();
  const timer = setInterval(() => {
    for (const secret of secrets) {
      try {
        secret.refresh();
        failing.delete(secret.name);
      } catch (error) {
        if (!failing.has(secret.name)) onError(secret.name, error as Error);
        failing.add(secret.name);
      }
    }
  }, 1000);
  timer.unref();
  return () => clearInterval(timer);
}
