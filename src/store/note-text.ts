import { NOTE_MAX_BYTES } from './port.js';

/** @throws RangeError when the text is longer than a note may be */
export function checkNote(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > NOTE_MAX_BYTES) throw new RangeError(`a note of ${bytes} bytes; ${NOTE_MAX_BYTES} are allowed`);
}
