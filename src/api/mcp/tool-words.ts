/** Errors in the words of tools: an agent has arguments and results, and sees no parameter and no header of HTTP. Pure. */
import { GatewayError, toProblem } from '../../errors.js';

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
  const renamed = errors?.map(({ param, message }) => ({
    param: ARGUMENT_OF.get(param) ?? param,
    message: toldToAgent(message),
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
