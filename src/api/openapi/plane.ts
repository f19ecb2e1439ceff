/** Common parts of a plane's operations, for its OpenAPI document. */
import type { ErrorCode } from '../../errors.js';
import type { ResponseHeader } from './headers.js';
import type { Operation } from './operation.js';

/** A call without a route of its own. */
export interface FurtherCall {
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly operation: Operation;
}

export interface Plane {
  readonly admin: boolean;
  /** Name to description. */
  readonly tags: Readonly<Record<string, string>>;
  readonly callers: (method: string, operation: Operation) => readonly ErrorCode[];
  /** Headers of every answer to an authenticated caller. */
  readonly callerHeaders: readonly ResponseHeader[];
  readonly further: readonly FurtherCall[];
}
