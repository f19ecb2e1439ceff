/** Lazily compiled validators of requests. */
import { AjvCompiler, type BuildCompilerFromPool } from '@fastify/ajv-compiler';

/** One for all planes of the process: Ajv compiles each schema once. */
const build = AjvCompiler();

/** Ajv options of all schemas. */
export const READING = {
  removeAdditional: false,
  coerceTypes: false,
  allErrors: true,
  keywords: ['env', 'secret'],
} as const;

/** Schemas are validated by tests: the meta-schema is expensive to compile. */
export const UNSEEN = { validateSchema: false, meta: false } as const;

/** The validator interface of Fastify. */
interface Check {
  (value: unknown): unknown;
  errors?: unknown;
}

/**
 * Like Fastify's, but compiles a schema on first use: most are never used, and all take a sixth of startup. Tests check
 * that each compiles.
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
