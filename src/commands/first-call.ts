/** The first call with a key, ready to paste. */
import type { Environment } from '../config/rules.js';
import type { AdminOptions } from './admin-client.js';

/**
 * The admin API does not say where apps reach the data plane, which may stand behind a proxy: it is taken to be on the
 * machine of the admin plane, at its usual port.
 */
export function firstCall(
  { key }: { readonly key: string },
  { url }: AdminOptions,
  env: Environment,
): string {
  const admin = url ?? env.GATEWAY_ADMIN_URL;
  const host = admin ? new URL(admin).hostname : '127.0.0.1';
  const port = env.PORT && env.PORT !== '0' ? env.PORT : '8080';
  return `
A first call; it says what the key may do (put the address that apps use in the place of this one, if it is another):

  curl -s -H 'x-api-key: ${key}' http://${host}:${port}/gateway/v1/me
`;
}
