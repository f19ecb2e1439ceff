/** The report call in JSON Schema, made from the tables that its parser reads; for the OpenAPI document. */
import type { Kind, ParameterTable } from './parameters.js';
import { PERIOD_WORDS } from './period.js';

const KINDS: Readonly<Record<Kind, object>> = {
  int: { type: 'integer', minimum: 1, description: 'At most 16 digits.' },
  flag: {
    type: 'string',
    enum: ['1', 'true', '0', 'false'],
    description: '1 or true: on. Off equals absent.',
  },
  date: { type: 'string', format: 'date', description: 'YYYY-MM-DD' },
  set: {
    type: 'array',
    items: { type: 'integer', minimum: 1 },
    description: 'Order and repetition mean nothing.',
  },
  text: { type: 'string' },
};

const OWN = {
  _format: {
    type: 'string',
    enum: ['json', 'csv', 'ndjson', 'raw'],
    description: 'Like the accept header, and stronger.',
  },
  _totals: {
    type: 'string',
    enum: ['1', '0'],
    description: '1: adds meta.totals, the unsplit report of the same period.',
  },
  _days: { type: 'string', enum: ['1', '0'], description: '1: adds meta.days, the age of every day.' },
  _period: { type: 'string', description: `Instead of dateFrom and dateTo: ${PERIOD_WORDS}.` },
  _bom: { type: 'string', enum: ['1', '0'], description: '1: a byte order mark in front of CSV, for Excel.' },
};

/** Query of a GET; unknown parameters of the platform are passed on, so further ones are allowed. */
export function describeQuery(table: ParameterTable): object {
  const known = [...table.kinds].map(([name, kind]): [string, object] => [
    kind === 'set' ? `${name}[]` : name,
    KINDS[kind],
  ]);
  return { type: 'object', properties: { ...Object.fromEntries(known), ...OWN }, additionalProperties: true };
}

/** Body of a POST that reads. */
export function describeBody(table: ParameterTable): object {
  const known = [...table.kinds].map(([name, kind]): [string, object] => [
    name,
    kind === 'flag' ? { type: 'boolean' } : KINDS[kind],
  ]);
  return { type: 'object', properties: Object.fromEntries(known), additionalProperties: true };
}

/** The gateway's own parameters alone, as the query of a POST. */
export const OWN_QUERY: object = { type: 'object', properties: OWN, additionalProperties: false };

const nullable = (type: string) => ({ type: [type, 'null'] });

/** The JSON answer. */
export const ANSWER: object = {
  type: 'object',
  required: ['data', 'meta'],
  properties: {
    data: {
      type: 'array',
      items: { type: 'object', additionalProperties: true },
      description: 'Rows, camelCase.',
    },
    meta: {
      type: 'object',
      required: [
        'endpoint',
        'advertiserId',
        'period',
        'split',
        'spentBased',
        'rowCount',
        'asOf',
        'final',
        'stale',
        'reach',
      ],
      properties: {
        endpoint: { type: 'string' },
        advertiserId: { type: ['integer', 'string', 'null'] },
        period: {
          type: ['object', 'null'],
          properties: { from: nullable('string'), to: nullable('string') },
        },
        split: { type: 'array', items: { type: 'string' } },
        spentBased: nullable('string'),
        rowCount: { type: 'integer' },
        asOf: {
          type: 'string',
          format: 'date-time',
          description: 'The oldest fetch among the parts served.',
        },
        final: {
          type: 'boolean',
          description: 'Every day served, and the totals, were fetched past restatement.',
        },
        stale: { type: 'boolean', description: 'Some part is past its freshness.' },
        reach: { type: 'object', properties: { summable: { type: 'boolean' } } },
        paging: {
          type: 'object',
          description: "The platform's own numbers, when these rows are not all there are.",
        },
        days: { type: 'array', items: { type: 'object' } },
        totals: { type: 'object', additionalProperties: true },
        warnings: {
          type: 'array',
          description: 'Absent when there is nothing to warn of.',
          items: { type: 'object', properties: { code: { type: 'string' }, message: { type: 'string' } } },
        },
      },
    },
  },
};
