/**
 * `cache-control` of a request or an answer (RFC 9111, section 5.2), read leniently: what cannot be read is one
 * directive that means nothing, and takes none of the others with it.
 *
 * @param header its lines joined by commas
 * @returns names in lower case, each with its value in lower case and without quotes, `''` where it has none. Of a
 *   directive that is there twice, the first one counts (RFC 9111, section 4.2.1). A comma ends a directive, inside of
 *   quotes too: then `no-store` is seen wherever it stands
 */
export function readDirectives(header: string): ReadonlyMap<string, string> {
  const directives = new Map<string, string>();
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', value = ''] = part.trim().split('=', 2);
    if (!directives.has(name)) directives.set(name, value.replaceAll('"', ''));
  }
  return directives;
}
