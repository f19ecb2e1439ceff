/** The same spellings of an advertiser as arguments of an assistant's tools. */

/** One message, as it is sent. */
export interface ToolMessage {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

const ABOUT_A_REPORT = ['query_report', 'explain_query', 'compare_as_of', 'get_finality'];
const OWN = 1;
const FOREIGN = 2;

/**
 * @param names of parameters, as they stand in a body
 * @param values of them, as they stand in a query
 * @param shapes values of other types
 */
export function messagesOfTools(
  names: readonly string[],
  values: readonly string[],
  shapes: readonly unknown[],
  period: { readonly from: string; readonly to: string },
): readonly ToolMessage[] {
  const report = { period, split: ['date', 'campaign'] };
  const filter = (name: string, value: string) => ({ filters: [{ name, values: [value] }] });
  const foreign: Record<string, unknown>[] = [
    ...names.flatMap((name) => [
      { ...report, ...filter(name, String(FOREIGN)) },
      { ...report, advertiserId: OWN, ...filter(name, String(FOREIGN)) },
      { ...report, advertiserId: OWN, [name]: FOREIGN },
    ]),
    ...values.flatMap((value) => [
      { ...report, ...filter('advertiserId', value) },
      { ...report, advertiserId: OWN, ...filter('userId', value) },
    ]),
    ...[...values, ...shapes].map((advertiserId) => ({ ...report, advertiserId })),
    ...[
      { endpoint: `campaigns/get?advertiserId=${FOREIGN}` },
      { endpoint: 'campaigns/get/../get' },
      { endpoint: 'campaigns/get%3FadvertiserId=2' },
      { split: ['date', 'campaign&advertiserId=2'] },
      { columns: ['date&advertiserId=2'] },
      { asOf: '2026-01-01&advertiserId=2' },
      { period: { relative: `last_7_days&advertiserId=${FOREIGN}` } },
      filter('a&advertiserId', String(FOREIGN)),
      filter('note', `x&advertiserId=${FOREIGN}`),
    ].map((more) => ({ ...report, advertiserId: OWN, ...more })),
  ];
  const others = ['whoami', 'describe_reports', 'get_usage'].flatMap((tool) =>
    names.slice(0, 5).map((name) => ({ tool, args: { [name]: FOREIGN } })),
  );
  return [
    ...foreign.map((args, at) => ({ tool: ABOUT_A_REPORT[at % ABOUT_A_REPORT.length] as string, args })),
    ...foreign.map((args) => ({ tool: 'query_report', args })),
    { tool: 'get_finality', args: { advertiserId: FOREIGN } },
    { tool: 'whoami', args: {} },
    ...others,
  ];
}
