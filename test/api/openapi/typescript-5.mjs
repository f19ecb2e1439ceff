/**
 * `openapi-typescript` writes by the compiler's own API, which TypeScript 7 has no more: of the version that does have
 * it there is a copy here under another name. To be given to Node as `--import`.
 */
import { register } from 'node:module';

const hook = `export const resolve = (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
