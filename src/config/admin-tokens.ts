/** Named admin tokens: who holds which role. Their values come from files or the environment, never from the YAML. */
import type { AdminRole, ConfigValues } from './schema.js';
import {
  adminToken,
  type FileSecret,
  fileSecret,
  fixedSecret,
  type Secret,
  type SecretRule,
  sizeOf,
} from './secret.js';

export interface NamedAdmin {
  /** As the audit shows it. */
  readonly name: string;
  readonly role: AdminRole;
  readonly token: Secret;
}

/** Names of actors that are not in the list: `ADMIN_TOKEN`, and the gateway itself. */
const TAKEN: readonly string[] = ['admin', 'gateway'];

type Setting = ConfigValues['auth']['adminTokens'][number];

export interface AdminTokenSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `ADMIN_TOKEN`, when it is set. */
  readonly owner: Secret | undefined;
  /** Files that are to be read again; those of the tokens are added. */
  readonly fileSecrets: FileSecret[];
  /** Faults are added, in the form `NAME: was …; allowed is …`. */
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
        `${place}.name: was ${JSON.stringify(name)}; allowed is a name that nobody else has`,
      );
    }
    names.add(name);
    const token = readToken(place, setting, sources);
    if (token === null) return [];
    const faults = [...adminToken(token.read()), ...ofItsOwn(token, tokens)(token.read())];
    tokens.push(token);
    sources.faults.push(...faults.map(({ was, allowed }) => `${place}: was ${was}; allowed is ${allowed}`));
    return faults.length === 0 ? [{ name, role, token }] : [];
  });
  keepApart(sources.fileSecrets, tokens);
  return admins;
}

/**
 * Holds the files of admin tokens to values of their own, whatever they change to: who holds two roles by one token
 * would act under the wrong name.
 * @param tokens every admin token there is; others of the files are left alone
 */
export function keepApart(files: readonly FileSecret[], tokens: readonly Secret[]): void {
  for (const file of files.filter((one) => tokens.includes(one))) file.hold(ofItsOwn(file, tokens));
}

/** @returns a rule that refuses the values of all tokens but this one */
function ofItsOwn(token: Secret, tokens: readonly Secret[]): SecretRule {
  return (value) =>
    tokens.some((other) => other !== token && other.read() === value)
      ? [{ was: `${sizeOf(value)} that is in use by another`, allowed: 'a token of its own' }]
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
