/** What the operations of a plane have in common, as its OpenAPI document tells it. */
import type { ErrorCode } from '../../errors.js';
import type { ResponseHeader } from './headers.js';
import type { Operation } from './operation.js';

/** A call that no route of its own stands for. */
export interface FurtherCall {
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly operation: Operation;
}

export interface Plane {
  readonly admin: boolean;
  /** Name to what belongs under it. */
  readonly tags: Readonly<Record<string, string>>;
  /** What a call that asks who calls can give because of who calls. */
  readonly callers: (method: string, operation: Operation) => readonly ErrorCode[];
  /** On every answer to somebody who is known. */
  readonly callerHeaders: readonly ResponseHeader[];
  readonly further: readonly FurtherCall[];
}
