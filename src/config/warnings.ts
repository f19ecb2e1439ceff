/** What is allowed in settings and is probably not meant. Pure. */
import { nearName } from '../lib/near-name.js';
import type { Environment } from './rules.js';
import { type Secret, TOKEN_REQUEST, tokenRequestOf } from './secret.js';
import { listSettings, OUTSIDE } from './settings.js';

/** @returns what is said where nothing is set to ask the platform with; null where something is */
export function missingCredential(secrets: ReadonlyMap<string, Secret>): string | null {
  if (secrets.has('PLATFORM_TOKEN') || tokenRequestOf(secrets) !== null) return null;
  return `no credential of the platform is set: set PLATFORM_TOKEN, or all of ${TOKEN_REQUEST.join(', ')}; else the gateway uses what was given by dsp-gateway token rotate, and waits for it when nothing was`;
}

/**
 * Names of the environment that are one letter off a setting's. Not refused: orchestrators inject names of their own.
 * @returns a line each
 */
export function nearMisses(env: Environment): readonly string[] {
  const known = knownNames();
  return Object.keys(env).flatMap((name) => {
    const near = env[name] === '' || env[name] === undefined ? undefined : nearName(name, known);
    return near === undefined ? [] : [`${name} is no setting and has no effect; did you mean ${near}?`];
  });
}

/**
 * An admin plane that is not for this machine alone. Not refused: in a container no other can be reached.
 * @param host as it is set, an address or a name
 * @returns a line, or none
 */
export function openAdminPlane(host: string): readonly string[] {
  if (/^(?:(?:::ffff:)?127(?:\.\d{1,3}){3}|::1|localhost)$/i.test(host)) return [];
  return [
    `the admin plane listens on ${host} (ADMIN_HOST), which others than this machine may reach: each of its calls asks for an admin token, its pages and metrics do not unless set so; let only operators reach the port`,
  ];
}

function knownNames(): ReadonlySet<string> {
  const settings = listSettings().flatMap(({ env, secret }) =>
    env === undefined ? [] : secret ? [env, `${env}_FILE`] : [env],
  );
  return new Set([...settings, ...OUTSIDE.map(([name]) => name)]);
}
