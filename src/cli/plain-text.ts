/** What others wrote, as a terminal may be given it: nothing in it moves the cursor, colours the screen or turns the order of reading. */

/** Control characters of both sets, and those that change the direction of a line. */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Of one line: a line break is one of them. */
export function plainLine(text: string): string {
  return text.replace(UNSAFE, '�');
}

/** Of several lines. */
export function plainText(text: string): string {
  return text.replace(UNSAFE, (found) => (found === '\n' ? found : '�'));
}

/** The same JSON, with nothing in it that a terminal would act on. */
export function plainJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNSAFE, (found) =>
    found === '\n' ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
