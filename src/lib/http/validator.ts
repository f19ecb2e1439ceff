/** Checks of requests by their schemas, made when first asked for. */
import { AjvCompiler, type BuildCompilerFromPool } from '@fastify/ajv-compiler';

/** One for all planes of the process: Ajv compiles each schema once. */
const build = AjvCompiler();

/** How every schema is read. */
export const READING = {
  removeAdditional: false,
  coerceTypes: false,
  allErrors: true,
  keywords: ['env', 'secret'],
} as const;

/** Tests look at the schemas themselves: the schema of schemas is the dearest of all to compile. */
export const UNSEEN = { validateSchema: false, meta: false } as const;

/** What Fastify asks: whether a value is right, and else what is wrong. */
interface Check {
  (value: unknown): unknown;
  errors?: unknown;
}

/**
 * As Fastify's own, but a schema is compiled by the first request that it is for: most processes are never asked for most
 * of their calls, and all of their schemas are a sixth of a start. That each compiles, tests see to.
 */
export const buildValidator = ((...given: Parameters<BuildCompilerFromPool>) => {
  const compile = build(...given) as (part: unknown) => Check;
  return (part: unknown): Check => {
    let made: Check | null = null;
    const check: Check = (value) => {
      made ??= compile(part);
      const right = made(value);
      check.errors = made.errors;
      return right;
    };
    return check;
  };
}) as unknown as BuildCompilerFromPool;
