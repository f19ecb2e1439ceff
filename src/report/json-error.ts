export const DUPLICATE = 'a duplicate member name';

/** A text that is not JSON as read here. The message names the place, never a value. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  /** Offset of the fault in UTF-16 units. */
  readonly position: number;
  /** Member names and indexes from the root to the fault. */
  readonly path: readonly (string | number)[];
  /** Whether a member name was given twice; the path ends with it. */
  readonly isDuplicate: boolean;

  constructor(reason: string, position: number, path: readonly (string | number)[]) {
    const place = path.map((step) => (typeof step === 'number' ? step : JSON.stringify(step.slice(0, 40))));
    super(`${reason} at position ${position}, below $${place.map((step) => `[${step}]`).join('')}`);
    this.position = position;
    this.path = path;
    this.isDuplicate = reason === DUPLICATE;
  }
}
