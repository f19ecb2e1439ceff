/** Foreign text made safe for a terminal: no control characters, no invisible space, no change of text direction or line. */

const UNSAFE = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** Replaces line breaks, too. */
export function plainLine(text: string): string {
  return text.replace(UNSAFE, '�');
}

/** Keeps line breaks. */
export function plainText(text: string): string {
  return text.replace(UNSAFE, (found) => (found === '\n' ? found : '�'));
}

/** JSON with unsafe characters escaped. */
export function plainJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNSAFE, (found) =>
    found === '\n' ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
