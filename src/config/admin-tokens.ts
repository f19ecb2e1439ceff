/** Named admin tokens with roles. Values come from files or the environment, never from the YAML. */
import type { ConfigValues } from './schema.js';
import {
  adminToken,
  type FileSecret,
  fileSecret,
  fixedSecret,
  type Secret,
  type SecretRule,
  sizeOf,
} from './secret.js';
import type { AdminRole } from './sign-in-settings.js';

export interface NamedAdmin {
  /** Shown in the audit. */
  readonly name: string;
  readonly role: AdminRole;
  readonly token: Secret;
}

/** Reserved: `ADMIN_TOKEN`, the gateway itself, and who signs in with a company account. */
const TAKEN: readonly string[] = ['admin', 'gateway', 'person'];

type Setting = ConfigValues['auth']['adminTokens'][number];

export interface AdminTokenSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `ADMIN_TOKEN`, if set. */
  readonly owner: Secret | undefined;
  /** Receives the token files. */
  readonly fileSecrets: FileSecret[];
  /** Receives faults, in the form `NAME: was …; allowed is …`. */
  readonly faults: string[];
}

export function takeAdminTokens(settings: readonly Setting[], sources: AdminTokenSources): NamedAdmin[] {
  const names = new Set(TAKEN);
  const tokens: Secret[] = sources.owner === undefined ? [] : [sources.owner];
  const admins = settings.flatMap((setting, index): NamedAdmin[] => {
    const place = `auth.adminTokens.${index}`;
    const { name, role } = setting;
    if (names.has(name)) {
      sources.faults.push(
        `${place}.name: was ${JSON.stringify(name)}; allowed is a unique name, not admin, gateway or person`,
      );
    }
    names.add(name);
    const token = readToken(place, setting, sources);
    if (token === null) return [];
    const faults = [...adminToken(token.read()), ...distinctFrom(token, tokens)(token.read())];
    tokens.push(token);
    sources.faults.push(...faults.map(({ was, allowed }) => `${place}: was ${was}; allowed is ${allowed}`));
    return faults.length === 0 ? [{ name, role, token }] : [];
  });
  requireDistinct(sources.fileSecrets, tokens);
  return admins;
}

/**
 * Makes each admin token file refuse a change to the value of another token, which would act under the wrong name.
 * @param tokens all admin tokens; other files are ignored
 */
export function requireDistinct(files: readonly FileSecret[], tokens: readonly Secret[]): void {
  for (const file of files.filter((one) => tokens.includes(one))) file.hold(distinctFrom(file, tokens));
}

/** @returns a rule that refuses the values of other tokens */
function distinctFrom(token: Secret, tokens: readonly Secret[]): SecretRule {
  return (value) =>
    tokens.some((other) => other !== token && other.read() === value)
      ? [{ was: `${sizeOf(value)} that another admin token uses`, allowed: 'a unique token' }]
      : [];
}

function readToken(
  place: string,
  { name, tokenFile, tokenEnv }: Setting,
  { env, fileSecrets, faults }: AdminTokenSources,
): Secret | null {
  if ((tokenFile === undefined) === (tokenEnv === undefined)) {
    const was = tokenFile === undefined ? 'without a token' : 'with two tokens';
    faults.push(`${place}: was ${was}; allowed is either tokenFile or tokenEnv`);
    return null;
  }
  if (tokenEnv !== undefined) {
    const value = env[tokenEnv];
    if (value) return fixedSecret(tokenEnv, value);
    faults.push(
      `${place}.tokenEnv: was ${tokenEnv}, which is not set; allowed is a variable that holds the token`,
    );
    return null;
  }
  try {
    const secret = fileSecret(`the admin token ${name}`, tokenFile as string, adminToken);
    fileSecrets.push(secret);
    return secret;
  } catch (error) {
    faults.push(
      `${place}.tokenFile: was ${tokenFile}; allowed is a readable, non-empty file (${(error as Error).message})`,
    );
    return null;
  }
}
