/** What OpenAPI cannot make from the routes' schemas alone: problems, statuses, and calls that are passed through. */
import { CATALOGUE } from '../errors.js';

export interface Additions {
  /** Statuses of success other than 200, e.g. `POST /admin/v1/teams` → 201. */
  readonly statuses: Readonly<Record<string, 201 | 204>>;
  /** Calls that are passed through to the platform. */
  readonly passed: readonly { readonly method: string; readonly path: string; readonly read: boolean }[];
}

interface Operation {
  readonly security?: readonly object[];
  responses?: Record<string, object>;
}

interface Document {
  paths?: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, object> };
}

/** @returns the document with every operation's answers */
export function complete<T extends object>(generated: T, { statuses, passed }: Additions): T {
  const document = structuredClone(generated) as Document;
  const paths: Record<string, Record<string, Operation>> = { ...document.paths };
  for (const { method, path, read } of passed) {
    const shown = path.replace(/\*$/, '{segment}');
    paths[shown] = { ...paths[shown], [method.toLowerCase()]: passedOn(shown, read) };
  }
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const status = statuses[`${method.toUpperCase()} ${path}`];
      const { 200: usual, ...others } = operation.responses ?? {};
      const success = success200(usual, status);
      operation.responses = { ...others, ...success, default: ANY_PROBLEM };
    }
  }
  return {
    ...document,
    paths,
    components: {
      ...document.components,
      schemas: { ...document.components?.schemas, Problem: PROBLEM },
    },
  } as unknown as T;
}

function success200(usual: object | undefined, status: 201 | 204 | undefined): Record<string, object> {
  if (status === 204) return { 204: { description: 'Done; there is nothing to say.' } };
  const described = { ...usual } as { description?: string };
  const description =
    described.description === undefined || described.description === 'Default Response'
      ? 'The answer, as JSON.'
      : described.description;
  return { [status ?? 200]: { ...described, description } };
}

function passedOn(path: string, read: boolean): Operation & object {
  const parameters = path.includes('{segment}')
    ? [{ name: 'segment', in: 'path', required: true, schema: { type: 'string' } }]
    : [];
  return {
    tags: ['passed through'],
    summary: read ? 'Passed through to the platform; only reads' : 'Passed through to the platform',
    ...(parameters.length === 0 ? {} : { parameters }),
    security: [{ bearer: [] }, { apiKey: [] }],
    responses: { 200: { description: "The platform's answer, with its status, as it came." } },
  } as Operation & object;
}

const ANY_PROBLEM = {
  description: 'A problem (RFC 9457); `type` is the address of its page.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

const PROBLEM = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
  properties: {
    type: { type: 'string', format: 'uri-reference' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: Object.keys(CATALOGUE) },
    requestId: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['param', 'message'],
        properties: { param: { type: 'string' }, message: { type: 'string' } },
      },
    },
    upstream: { type: 'object', description: 'What the platform said: its status and message.' },
  },
} as const;
