/** Settings that are allowed but probably a mistake. Pure. */
import { editsInDoubt, nearName } from '../lib/near-name.js';
import type { Environment } from './rules.js';
import { type Secret, TOKEN_REQUEST, tokenRequestOf } from './secret.js';
import { listSettings, OUTSIDE } from './settings.js';

/** @returns a warning if no platform credential is set, else null */
export function missingCredential(secrets: ReadonlyMap<string, Secret>): string | null {
  if (secrets.has('PLATFORM_TOKEN') || tokenRequestOf(secrets) !== null) return null;
  return `no platform credential is set: set PLATFORM_TOKEN, or all of ${TOKEN_REQUEST.join(', ')}. Otherwise the gateway uses the token of dsp-gateway token rotate, or waits for one`;
}

/**
 * Environment variables one letter off a setting's name. Not refused: orchestrators inject variables of their own.
 * @returns one line each
 */
export function nearMisses(env: Environment): readonly string[] {
  const known = knownNames();
  return Object.keys(env).flatMap((name) => {
    const near =
      env[name] === '' || env[name] === undefined ? undefined : nearName(name, known, editsInDoubt);
    return near === undefined ? [] : [`${name} is not a setting and has no effect; did you mean ${near}?`];
  });
}

/**
 * A warning if the admin plane is reachable from other machines. Not refused: a container needs it.
 * @param host as set, an address or a name
 */
export function openAdminPlane(host: string): readonly string[] {
  if (/^(?:(?:::ffff:)?127(?:\.\d{1,3}){3}|::1|localhost)$/i.test(host)) return [];
  return [
    `the admin plane listens on ${host} (ADMIN_HOST) and may be reachable from other machines. Its API requires an admin token; its pages do not, and /metrics only with server.metricsAuth. Restrict the port to operators`,
  ];
}

function knownNames(): ReadonlySet<string> {
  const settings = listSettings().flatMap(({ env, secret }) =>
    env === undefined ? [] : secret ? [env, `${env}_FILE`] : [env],
  );
  return new Set([...settings, ...OUTSIDE.map(([name]) => name)]);
}
