/**
 * What a route tells of itself in the OpenAPI document, as `config.operation`, beside the `schema` that it is run by.
 *
 * Apart from it on purpose: Fastify writes an answer by its response schema, and leaves out members that are not in it.
 * Nothing here is run against a request or an answer.
 */
import type { TObject, TSchema } from 'typebox';
import type { AdminRole } from '../../config/sign-in-settings.js';
import type { ErrorCode } from '../../errors.js';
import type { RequestHeader, ResponseHeader } from './headers.js';

export interface Answer {
  /** Name of an answer that several operations have. */
  readonly name?: string;
  readonly description: string;
  /** Media type to schema; absent: no body. */
  readonly content?: Readonly<Record<string, TSchema>>;
  /** Without those of every answer. */
  readonly headers?: readonly ResponseHeader[];
}

/** A code with the status of the catalogue, or with another one. */
export type ProblemCode = ErrorCode | { readonly code: ErrorCode; readonly status: number };

export const BODY_PROBLEMS = ['invalid_body', 'body_too_large', 'unsupported_media_type'] as const;

/** Problems of a call about a report. */
export const REPORT_PROBLEMS = [
  'invalid_query',
  'undeclared_parameter',
  'scope_missing',
  'advertiser_forbidden',
  'advertiser_required',
  'rate_limited',
] as const;

/** Problems of a call that names the report by a parameter: it may be misspelt. */
export const NAMED_REPORT_PROBLEMS = [...REPORT_PROBLEMS, 'not_found'] as const;

/** Problems of a call that may need the platform. */
export const PLATFORM_PROBLEMS = [
  'upstream_budget_exhausted',
  'upstream_error',
  'upstream_invalid_response',
  'upstream_too_large',
  'credential_unavailable',
  'upstream_rate_limited',
  'upstream_circuit_open',
  'overloaded',
  'upstream_timeout',
] as const;

export interface Operation {
  /** Unique on its plane; generated clients name their functions by it. */
  readonly id: string;
  /** Descriptions of the parameters in the path. */
  readonly path?: Readonly<Record<string, string>>;
  /** Query parameters; the route reads them itself. */
  readonly query?: TObject;
  /** Without those of credentials. */
  readonly headers?: readonly RequestHeader[];
  /** Media type to schema of a body that the route reads itself. */
  readonly body?: Readonly<Record<string, TSchema>>;
  /** By status, or `2XX` and the like. */
  readonly answers: Readonly<Record<string, Answer>>;
  /** On the admin plane: the minimum role; default: owner. */
  readonly role?: AdminRole;
  /** Without those of every operation, or of every authenticated one. */
  readonly problems?: readonly ProblemCode[];
  /** Of money in rows that name none: `x-currency` in the document. */
  readonly currency?: string | undefined;
}

export function json(
  schema: TSchema,
  description = 'The answer.',
  headers: readonly ResponseHeader[] = [],
): Answer {
  return { description, content: { 'application/json': schema }, headers };
}

/** The options of a route of the data plane that takes a team's key. */
export function shownToTeams(tag: string, summary: string, operation: Operation) {
  return {
    schema: { summary, tags: [tag], security: [{ bearer: [] }, { apiKey: [] }] },
    config: { operation },
  };
}

/** The id of an operation without a name: `get`, `/report/campaigns/get` → `getReportCampaignsGet`. */
export function idOf(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
