/** The cookie that a session is shown by, read and written. Pure. */

/** 256 random bits in base64url, as they are made here. */
const FORM = /^[A-Za-z0-9_-]{43}$/;

/** What of a `cookie` header is a session's: its id; `bad` where it cannot be one, or is not one alone; null: nothing. */
export type ShownId = { readonly id: string } | 'bad' | null;

/** @param header all of them, as Node joins several by `; ` */
export function readSessionCookie(header: string | undefined, name: string): ShownId {
  if (header === undefined) return null;
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair === name || pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [id, ...others] = values;
  if (id === undefined) return null;
  // Which of two is meant nobody knows: a neighbour on the same domain may have set the other one.
  return others.length === 0 && FORM.test(id) ? { id } : 'bad';
}

/** @param secure false for a browser on this machine that came without TLS, which would not keep it otherwise */
export function writeSessionCookie(name: string, id: string, maxAgeS: number, secure: boolean): string {
  return `${name}=${id}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}

/** Has a browser drop it. */
export function endSessionCookie(name: string, secure: boolean): string {
  return writeSessionCookie(name, '', 0, secure);
}
