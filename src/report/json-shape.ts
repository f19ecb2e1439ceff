/** The member names of objects, shared among objects that have the same ones: rows repeat theirs. */

export interface Shape {
  readonly names: string[];
  /** The names as they stand in the text, with quotes and escapes. */
  readonly sources: string[];
  /** The names again, once there are so many that a list is slow to search. */
  index?: Set<string>;
}

export const NO_SHAPE: Shape = { names: [], sources: [] };
const LONG_LIST = 16;

/** @returns a shape of its own with the first members of another. */
export function beginningOf(shape: Shape, length: number): Shape {
  return { names: shape.names.slice(0, length), sources: shape.sources.slice(0, length) };
}

/** Adds a name at the end. @returns false when the shape has it already. */
export function addName(shape: Shape, name: string, source: string): boolean {
  if (shape.names.length >= LONG_LIST) shape.index ??= new Set(shape.names);
  if (shape.index?.has(name) ?? shape.names.includes(name)) return false;
  shape.index?.add(name);
  shape.names.push(name);
  shape.sources.push(source);
  return true;
}

/** @returns of equal shapes the one met first, so that rows with and without an optional member share two. */
export function interned(shapes: Map<string, Shape>, shape: Shape): Shape {
  const key = shape.sources.join();
  const first = shapes.get(key);
  if (first === undefined) shapes.set(key, shape);
  return first ?? shape;
}
