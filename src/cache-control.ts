/**
 * `cache-control` of a request or an answer (RFC 9111, section 5.2), read leniently: what cannot be read is one
 * directive that means nothing, and takes none of the others with it.
 *
 * @param header its lines joined by commas
 * @returns names in lower case, each with its value in lower case and without quotes, `''` where it has none. Of a
 *   directive that is there twice, the last one counts. A comma ends a directive, inside of quotes too: then `no-store`
 *   is seen wherever it stands
 */
export function readDirectives(header: string): ReadonlyMap<string, string> {
  return new Map(
    header
      .toLowerCase()
      .split(',')
      .map((part): [string, string] => {
        const [name = '', value = ''] = part.trim().split('=', 2);
        return [name, value.replaceAll('"', '')];
      }),
  );
}
