/** The settings of the platform's token request. It needs all of them. */
import type { Secret } from './secret.js';

const NAMES = {
  username: 'PLATFORM_USERNAME',
  password: 'PLATFORM_PASSWORD',
  clientId: 'PLATFORM_CLIENT_ID',
  clientSecret: 'PLATFORM_CLIENT_SECRET',
} as const;

export const TOKEN_REQUEST: readonly string[] = Object.values(NAMES);

export type TokenRequestSecrets = Readonly<Record<keyof typeof NAMES, Secret>>;

/** @returns null unless all of them are set */
export function tokenRequestOf(secrets: ReadonlyMap<string, Secret>): TokenRequestSecrets | null {
  if (!TOKEN_REQUEST.every((name) => secrets.has(name))) return null;
  const entries = Object.entries(NAMES).map(([member, name]) => [member, secrets.get(name)]);
  return Object.fromEntries(entries) as TokenRequestSecrets;
}
