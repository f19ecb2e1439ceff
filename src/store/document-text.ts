import { DOCUMENT_MAX_BYTES } from './port.js';

/** @throws RangeError when the text is longer than a document may be */
export function checkDocument(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > DOCUMENT_MAX_BYTES)
    throw new RangeError(`a document of ${bytes} bytes; ${DOCUMENT_MAX_BYTES} are allowed`);
}
