/** Runs one tool call: checks the arguments, reads a page, translates errors for agents. */
import { asGatewayError, type FieldFault, GatewayError, invalidQuery } from '../../errors.js';
import { faultsOf, type SchemaFault } from '../../lib/faults.js';
import { isUnknown, mustBe } from '../../lib/field-faults.js';
import { toProblem } from '../../lib/http/problem.js';
import type { Caps } from '../../reports/tables/pages.js';
import { firstPage, type PagedTools, pageAt } from './run-tool.js';
import type { ToolCall } from './tool-call.js';
import { ARGUMENTS, type ToolName } from './tools.js';

/** HTTP parameters to tool arguments: agents do not know parameters and headers of HTTP. */
const ARGUMENT_OF: ReadonlyMap<string, string> = new Map([
  ['dateFrom', 'period.from'],
  ['dateTo', 'period.to'],
  ['_period', 'period.relative'],
  ['_fields', 'columns'],
  ['_totals', 'totals'],
  ['_asOf', 'asOf'],
  ['_final', 'final'],
]);

/** Replaces terms of HTTP in texts by those of tools. */
const TOOL_TERMS: readonly (readonly [http: RegExp, tool: string])[] = [
  [/\bbyDate=1\b/g, '"date" to split'],
  [/\bbyCampaign=1\b/g, '"campaign" to split'],
  [/(?<![\w])(_\w+|dateFrom|dateTo|offset)=([\w:.+-]*\w)/g, '$1 "$2"'],
  ...[...ARGUMENT_OF].map(([name, argument]) => [new RegExp(`(?<!\\w)${name}\\b`, 'g'), argument] as const),
  [/\bGET \/gateway\/v1\/me\b/g, 'the tool whoami'],
  [/(?<!\w)retry-after\b/g, 'retryAfterSeconds'],
  [/\bin authorization or x-api-key\b/g, 'with your connection'],
];

export function toToolError(error: GatewayError): GatewayError {
  const { errors } = error.options;
  const renamed = errors?.map((fault) => ({
    ...fault,
    param: ARGUMENT_OF.get(fault.param) ?? fault.param,
    message: toToolTerms(fault.message),
  }));
  const translated = new GatewayError(error.code, {
    ...error.options,
    status: error.status,
    ...(renamed === undefined ? {} : { errors: renamed }),
  });
  const { detail, help } = toProblem(translated, '');
  return new GatewayError(error.code, {
    ...translated.options,
    detail: toToolTerms(detail),
    help: toToolTerms(help),
  });
}

function toToolTerms(text: string): string {
  return TOOL_TERMS.reduce((translated, [http, tool]) => translated.replace(http, tool), text);
}

/** `structuredContent`, and the same as JSON text. */
export interface ToolResult {
  [member: string]: unknown;
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError?: true;
}

export interface ToolBench extends PagedTools {
  readonly onError: (call: ToolCall, error: GatewayError) => void;
}

/**
 * @param admitted rejects if the call is refused
 * @returns always a result: errors have `isError`
 */
export async function callTool(
  bench: ToolBench,
  call: ToolCall,
  name: ToolName,
  given: unknown,
  admitted: Promise<unknown>,
): Promise<ToolResult> {
  try {
    await admitted;
    return resultOf(await run(bench, call, name, given));
  } catch (thrown) {
    const error = toToolError(asGatewayError(thrown));
    bench.onError(call, error);
    return errorOf(error, call.ask.id, bench.caps);
  }
}

async function run(bench: ToolBench, call: ToolCall, name: ToolName, given: unknown): Promise<string> {
  const args = readArguments(name, given);
  const { cursor, ...others } = args as { readonly cursor?: string };
  if (cursor === undefined) return firstPage(bench, call, name, args);
  const strange = Object.keys(others).map((param) => ({
    param,
    message: 'must be omitted: cursor is the only argument of a follow-up call',
  }));
  if (strange.length > 0) throw invalidQuery(...strange);
  return pageAt(bench, call, name, cursor);
}

function readArguments(name: ToolName, given: unknown = {}): object {
  const schema = ARGUMENTS[name];
  const faults = faultsOf(schema, given);
  const known = Object.keys(schema.properties);
  if (faults.length > 0) throw invalidQuery(...faults.map((fault) => inArguments(fault, known)));
  return given as object;
}

function inArguments({ path, kind, allowed, says }: SchemaFault, known: readonly string[]): FieldFault {
  const param = path.join('.');
  if (kind === 'wrong' && allowed.startsWith('one of ')) return mustBe(param, allowed);
  if (kind === 'unknown' && path.length === 1) return isUnknown(param, known);
  return { param, message: { wrong: says, unknown: 'is unknown', missing: 'is missing' }[kind] };
}

function resultOf(text: string): ToolResult {
  return {
    content: [{ type: 'text', text }],
    structuredContent: JSON.parse(text) as Record<string, unknown>,
  };
}

/** The problem as for HTTP, shortened to the caps: a long list of faults or the platform's message may not fit. */
function errorOf(error: GatewayError, requestId: string, { maxBytes }: Caps): ToolResult {
  const problem = toProblem(error, requestId);
  const { code, detail, help, status, errors = [], errorCount, known, upstream } = problem;
  const { retryAfterS: retryAfterSeconds } = error.options;
  const short = { code, detail, help, status, requestId, retryAfterSeconds };
  const whole = { ...short, errors: errors.length === 0 ? undefined : errors, errorCount, known, upstream };
  const all = [
    whole,
    { ...short, errors: errors.slice(0, 3), errorCount: errorCount ?? errors.length },
    short,
  ];
  const fitting = all.map((one) => JSON.stringify(one)).find((text) => Buffer.byteLength(text) <= maxBytes);
  return { ...resultOf(fitting ?? JSON.stringify({ code })), isError: true };
}
