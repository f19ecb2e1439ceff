/** Where the tokens of JSON end (RFC 8259, sections 2, 6 and 7), as offsets in UTF-16 units. */

/** @returns the offset behind the white space that may stand at `start`. */
export function endOfSpace(text: string, start: number): number {
  for (let at = start; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
  }
}

/** @returns the offset behind the number that starts at `start`, or -1 when there is none. */
export function endOfNumber(text: string, start: number): number {
  let at = text.charCodeAt(start) === 0x2d ? start + 1 : start;
  at = text.charCodeAt(at) === 0x30 ? at + 1 : endOfDigits(text, at);
  if (at > 0 && text.charCodeAt(at) === 0x2e) at = endOfDigits(text, at + 1);
  if (at > 0 && (text.charCodeAt(at) | 0x20) === 0x65) {
    const sign = text.charCodeAt(at + 1);
    at = endOfDigits(text, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
  }
  return at;
}

/** @returns the offset behind one or more digits, or -1 when there is none. */
function endOfDigits(text: string, start: number): number {
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (!(code >= 0x30 && code <= 0x39)) return at === start ? -1 : at;
    at += 1;
  }
}

/**
 * @returns the offset behind the closing quote of the string whose opening quote is at `start`, or -1 when it
 * has none or holds a raw control character. Whether its escapes are good is not looked at.
 */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code === 0x5c) at += 1;
    else if (!(code >= 0x20)) return -1;
  }
}
