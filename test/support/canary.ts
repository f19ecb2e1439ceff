/** Searches bytes for secrets, in the spellings in which a secret could slip out. */

export interface Canary {
  /** For the message: what it is, never its text. */
  readonly name: string;
  readonly secret: string;
}

/** Where something was said: a log, an answer, a file, a database record. */
export interface Place {
  readonly name: string;
  readonly bytes: Buffer;
}

/** @returns `<canary> as <spelling> in <place>` for each find */
export function findCanaries(canaries: readonly Canary[], places: readonly Place[]): string[] {
  return canaries.flatMap(({ name, secret }) =>
    spellings(secret).flatMap(([spelling, text]) =>
      places
        .filter(({ bytes }) => bytes.includes(text))
        .map((place) => `${name} as ${spelling} in ${place.name}`),
    ),
  );
}

function spellings(secret: string): [string, string][] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  const found: [string, string][] = [
    ['text', secret],
    ['JSON', JSON.stringify(secret).slice(1, -1)],
    ['percent encoding', encodeURIComponent(secret)],
    ['hex', hex],
    ['HEX', hex.toUpperCase()],
    ['text backwards', [...secret].reverse().join('')],
    ...[0, 1, 2].flatMap((shift): [string, string][] => {
      const base64 = innerBase64(bytes, shift);
      return [
        [`base64 from byte ${shift}`, base64],
        [`base64url from byte ${shift}`, base64.replaceAll('+', '-').replaceAll('/', '_')],
      ];
    }),
  ];
  return found.filter(([, text], index) => found.findIndex(([, other]) => other === text) === index);
}

/** What base64 makes of the bytes wherever they begin within a group of three, without the ends that others share. */
function innerBase64(bytes: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), bytes])
    .toString('base64')
    .replace(/=+$/, '');
  const first = Math.ceil((shift * 8) / 6);
  const last = Math.floor(((shift + bytes.length) * 8) / 6);
  return text.slice(first, last);
}
