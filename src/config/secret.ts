/**
 * Secrets, fixed from the environment or re-read from a file.
 *
 * Files are polled each second: Kubernetes replaces a mounted secret by renaming a directory link, which file watchers
 * miss.
 */
import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { startTicks, stopTicks } from '../lib/time.js';

export interface Secret {
  /** The setting's name, for messages. */
  readonly name: string;
  /** The file; absent for the environment. */
  readonly path?: string;
  /** The current value, without a final line break. */
  read(): string;

  onChange(listener: (value: string) => void): void;
}

export function fixedSecret(name: string, value: string): Secret {
  return { name, read: () => value, onChange: () => {} };
}

export interface FileSecret extends Secret {
  readonly path: string;
  /** Adds a rule for later changes; the current value is not checked. */
  hold(rule: SecretRule): void;
  /** Reads the file again. If it is unreadable, empty or against a rule, throws and keeps the last value. */
  refresh(): void;
}

/** @throws if the file cannot be read, is empty or not UTF-8. The caller checks the first value */
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
      // A rule may rely on earlier ones.
      for (const rule of rules) {
        const faults = rule(next).map(
          ({ was, allowed }) => `the file ${path} holds ${was}; allowed is ${allowed}`,
        );
        if (faults.length > 0) throw new Error(faults.join('; '));
      }
      value = next;
      for (const listener of listeners) listener(next);
    },
  };
}

function readSecretFile(path: string): string {
  const bytes = readFileSync(path);
  if (!isUtf8(bytes)) throw new Error(`the file ${path} is not UTF-8; allowed is text`);
  // A byte order mark stays and is reported by the rules.
  const value = bytes.toString('utf8').replace(/\r?\n$/, '');
  if (value === '') throw new Error(`the file ${path} is empty; allowed is the secret`);
  return value;
}

/** Checked at startup and on each change of a file. @returns one fault per invalid part; `was` does not show the value */
export type SecretRule = (value: string) => readonly { readonly was: string; readonly allowed: string }[];

const TOKEN = /^[\x21-\x7e]+$/;
/** Longer ones do not fit into a header. */
const MAX_TOKEN = 16_384;
/** Shorter ones can be guessed. */
const MIN_ADMIN_TOKEN = 16;

const tokenOf =
  (least: number, allowed: string): SecretRule =>
  (value) => {
    const was = sizeOf(value);
    if (!TOKEN.test(value)) return [{ was: `${was}, some not printable ASCII`, allowed: 'the token alone' }];
    return value.length < least || value.length > MAX_TOKEN ? [{ was, allowed }] : [];
  };

const platformToken = tokenOf(1, `the token alone, of at most ${MAX_TOKEN} characters`);
/** For `ADMIN_TOKEN` and named admin tokens. */
export const adminToken = tokenOf(
  MIN_ADMIN_TOKEN,
  `a token of ${MIN_ADMIN_TOKEN} printable ASCII characters or more`,
);

/** A comma-separated list; the first encrypts, all decrypt. */
export const masterKey: SecretRule = (value) =>
  value
    .split(',')
    .map((key) => key.trim())
    .flatMap((key, index) =>
      /^[A-Za-z0-9+/_-]{42,43}={0,1}$/.test(key) && Buffer.from(key, 'base64').length === 32
        ? []
        : [
            {
              was: `a secret whose key ${index + 1} has ${key.length} characters`,
              allowed: '32 bytes in base64 (openssl rand -base64 32)',
            },
          ],
    );

const redisUrl: SecretRule = (value) => {
  // The URL parser drops blanks and line breaks.
  const isAddress = TOKEN.test(value) && URL.canParse(value) && /^rediss?:$/.test(new URL(value).protocol);
  return isAddress ? [] : [{ was: sizeOf(value), allowed: 'a redis:// or rediss:// address' }];
};

/** Any text without invisible characters that editors and shells may add. */
const line: SecretRule = (value) =>
  /[\p{Cc}\uFEFF]/u.test(value)
    ? [
        {
          was: `${sizeOf(value)}, including a line break, a control character or a byte order mark`,
          allowed: 'one line of text',
        },
      ]
    : [];

const RULES: ReadonlyMap<string, SecretRule> = new Map([
  ['PLATFORM_TOKEN', platformToken],
  ['ADMIN_TOKEN', adminToken],
  ['GATEWAY_MASTER_KEY', masterKey],
  ['REDIS_URL', redisUrl],
  ['REDIS_REGISTRY_URL', redisUrl],
]);

/** @param name the setting's name, e.g. `ADMIN_TOKEN` */
export function ruleOf(name: string): SecretRule {
  return RULES.get(name) ?? line;
}

/** The only description of a value that is shown. */
export function sizeOf(value: string): string {
  return `a secret of ${value.length} characters`;
}

/** Settings of the platform's token request, all required. */
const TOKEN_REQUEST_NAMES = {
  username: 'PLATFORM_USERNAME',
  password: 'PLATFORM_PASSWORD',
  clientId: 'PLATFORM_CLIENT_ID',
  clientSecret: 'PLATFORM_CLIENT_SECRET',
} as const;

export const TOKEN_REQUEST: readonly string[] = Object.values(TOKEN_REQUEST_NAMES);

export type TokenRequestSecrets = Readonly<Record<keyof typeof TOKEN_REQUEST_NAMES, Secret>>;

/** @returns null unless all are set */
export function tokenRequestOf(secrets: ReadonlyMap<string, Secret>): TokenRequestSecrets | null {
  if (!TOKEN_REQUEST.every((name) => secrets.has(name))) return null;
  const entries = Object.entries(TOKEN_REQUEST_NAMES).map(([member, name]) => [member, secrets.get(name)]);
  return Object.fromEntries(entries) as TokenRequestSecrets;
}

export interface SecretFileFault {
  /** The secret's name. */
  readonly name: string;
  /** Never contains the value. */
  readonly message: string;
}

export interface SecretWatch {
  /** Files whose current content is not in use. */
  faults(): readonly SecretFileFault[];
  stop(): void;
}

/**
 * Re-reads secret files once a second until stopped.
 * @param tell called once per fault, and once when it is resolved
 */
export function watchSecrets(
  secrets: readonly FileSecret[],
  tell: {
    readonly onFault: (name: string, error: Error) => void;
    readonly onResolved: (name: string) => void;
  },
): SecretWatch {
  const failing = new Map<string, string>();
  const look = (secret: FileSecret) => {
    try {
      secret.refresh();
      if (failing.delete(secret.name)) tell.onResolved(secret.name);
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
