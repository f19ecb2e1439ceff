/** One call of a tool: its arguments checked, its table in pages, its error as one that an agent can act on. */
import { asGatewayError, type FieldFault, GatewayError, invalidQuery } from '../../errors.js';
import { randomBuffer } from '../../lib/chance.js';
import { faultsOf, type SchemaFault } from '../../lib/faults.js';
import { toProblem } from '../../lib/http/problem.js';
import { type Packed, type PackOptions, packTable } from '../../reports/tables/pack.js';
import type { Caps } from '../../reports/tables/pages.js';
import type { Table } from '../../reports/tables/table.js';
import { describeReports, getUsage, whoami } from './own-tools.js';
import { compareAsOf, explainQuery, getFinality, queryReport } from './report-tools.js';
import type { Snapshots } from './snapshots.js';
import type { ToolCall, ToolParts } from './tool-call.js';
import { ARGUMENTS, type ToolName } from './tools.js';

// Errors in the words of tools: an agent has arguments and results, and sees no parameter and no header of HTTP. Pure.

/** Parameters of HTTP by what an agent gave for them. */
const ARGUMENT_OF: ReadonlyMap<string, string> = new Map([
  ['dateFrom', 'period.from'],
  ['dateTo', 'period.to'],
  ['_period', 'period.relative'],
  ['_fields', 'columns'],
  ['_totals', 'totals'],
  ['_asOf', 'asOf'],
  ['_final', 'final'],
]);

/** What an agent would give, or look at, in the place of what a text speaks of. */
const GIVEN_FOR: readonly (readonly [spoken: RegExp, given: string])[] = [
  [/\bbyDate=1\b/g, '"date" to split'],
  [/\bbyCampaign=1\b/g, '"campaign" to split'],
  [/(?<![\w])(_\w+|dateFrom|dateTo)=([\w:.+-]*\w)/g, '$1 "$2"'],
  ...[...ARGUMENT_OF].map(([name, argument]) => [new RegExp(`(?<!\\w)${name}\\b`, 'g'), argument] as const),
  [/\bGET \/gateway\/v1\/me lists\b/g, 'the tool whoami lists'],
  [/(?<!\w)retry-after\b/g, 'retryAfterSeconds'],
  [/\bthe key in authorization or x-api-key\b/g, 'the key of your connection'],
];

export function inWordsOfTools(error: GatewayError): GatewayError {
  const { errors } = error.options;
  const renamed = errors?.map((fault) => ({
    ...fault,
    param: ARGUMENT_OF.get(fault.param) ?? fault.param,
    message: toldToAgent(fault.message),
  }));
  const told = new GatewayError(error.code, {
    ...error.options,
    status: error.status,
    ...(renamed === undefined ? {} : { errors: renamed }),
  });
  const { detail, help } = toProblem(told, '');
  return new GatewayError(error.code, {
    ...told.options,
    detail: toldToAgent(detail),
    help: toldToAgent(help),
  });
}

function toldToAgent(text: string): string {
  return GIVEN_FOR.reduce((told, [spoken, given]) => told.replace(spoken, given), text);
}

/** A result by the protocol: `structuredContent`, and the same as JSON text. */
export interface ToolResult {
  [member: string]: unknown;
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError?: true;
}

export interface ToolBench extends ToolParts {
  readonly snapshots: Snapshots;
  readonly caps: Caps;
  /** Told of an error that is given, for log and metrics. */
  readonly onError: (call: ToolCall, error: GatewayError) => void;
}

type Tool = (parts: ToolParts, call: ToolCall, args: never, pack: PackOptions) => Promise<Packed>;

const RUN: Readonly<Record<ToolName, Tool>> = {
  whoami: packed(whoami),
  describe_reports: packed(describeReports),
  query_report: queryReport,
  explain_query: packed(explainQuery),
  compare_as_of: compareAsOf,
  get_finality: packed(getFinality),
  get_usage: packed(getUsage),
};

/** Of a tool whose tables are small. */
function packed<A>(tool: (parts: ToolParts, call: ToolCall, args: A) => Promise<Table>) {
  return async (parts: ToolParts, call: ToolCall, args: A, pack: PackOptions): Promise<Packed> =>
    packTable(await tool(parts, call, args), pack);
}

/**
 * @param admitted rejects where the call is not let in: an agent is told so as of any other error
 * @returns a result in any case: what goes wrong is told as one with `isError`
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
    const error = inWordsOfTools(asGatewayError(thrown));
    bench.onError(call, error);
    return errorOf(error, call.ask.id, bench.caps);
  }
}

async function run(bench: ToolBench, call: ToolCall, name: ToolName, given: unknown): Promise<string> {
  const args = readArguments(name, given);
  const { cursor, limit } = args as { readonly cursor?: string; readonly limit?: number };
  if (cursor !== undefined) {
    const others = Object.keys(args).filter((member) => member !== 'cursor');
    if (others.length > 0)
      throw invalidQuery(
        ...others.map((param) => ({ param, message: 'does not go with cursor: give the cursor alone' })),
      );
    return bench.snapshots.read(call.caller, name, cursor);
  }
  const begun = bench.snapshots.begin();
  const walk = randomBuffer(16).toString('base64url');
  const caps = { ...bench.caps, maxRows: Math.min(limit ?? bench.caps.maxRows, bench.caps.maxRows) };
  const told = await RUN[name](bench, call, args as never, { caps, walk });
  return bench.snapshots.keep(call.caller, name, walk, told, begun);
}

function readArguments(name: ToolName, given: unknown = {}): object {
  const schema = ARGUMENTS[name];
  const faults = faultsOf(schema, given);
  const known = Object.keys(schema.properties).join(', ');
  if (faults.length > 0) throw invalidQuery(...faults.map((fault) => inArguments(fault, known)));
  return given as object;
}

function inArguments({ path, kind, allowed, says }: SchemaFault, known: string): FieldFault {
  const wrong = allowed.startsWith('one of ') ? `must be ${allowed}` : says;
  const strange =
    path.length === 1
      ? `is no argument of this tool; allowed are ${known}`
      : 'is no member that is known here';
  return { param: path.join('.'), message: { wrong, unknown: strange, missing: 'is missing' }[kind] };
}

function resultOf(text: string): ToolResult {
  return {
    content: [{ type: 'text', text }],
    structuredContent: JSON.parse(text) as Record<string, unknown>,
  };
}

/** The problem as HTTP would have it, within the caps: a long list of faults, or the platform's own words, may not fit. */
function errorOf(error: GatewayError, requestId: string, { maxBytes }: Caps): ToolResult {
  const { code, detail, help, status, errors = [], errorCount, upstream } = toProblem(error, requestId);
  const { retryAfterS: retryAfterSeconds } = error.options;
  const short = { code, detail, help, status, requestId, retryAfterSeconds };
  const whole = { ...short, errors: errors.length === 0 ? undefined : errors, errorCount, upstream };
  const all = [
    whole,
    { ...short, errors: errors.slice(0, 3), errorCount: errorCount ?? errors.length },
    short,
  ];
  const fitting = all.map((one) => JSON.stringify(one)).find((text) => Buffer.byteLength(text) <= maxBytes);
  return { ...resultOf(fitting ?? JSON.stringify({ code })), isError: true };
}
