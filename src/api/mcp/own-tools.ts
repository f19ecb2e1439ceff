/** Tools about the team itself, and about the available reports. */

import { GatewayError, invalidQuery } from '../../errors.js';
import { USUAL_COLUMNS } from '../../reports/query/describe.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../../reports/query/endpoint-path.js';
import { holdsText, isAdditive } from '../../reports/rows/row-names.js';
import { DOES_NOT_ADD_UP, type Table, tableOf } from '../../reports/tables/table.js';
import { type ShownAdvertiser, teamAdvertisers } from '../data/advertisers.js';
import type { ToolCall, ToolParts } from './tool-call.js';
import type { DescribeArguments } from './tools.js';

export async function whoami(parts: ToolParts, call: ToolCall): Promise<Table> {
  const { usage: _, key, advertisers, defaultFormat: _format, ...me } = await parts.showMe(call.caller);
  const known = await advertisersOf(parts, call);
  return {
    about: {
      ...me,
      keyExpiresAt: key.expiresAt,
      advertisers: advertisers === '*' ? 'all; listed are those seen in platform answers' : 'those listed',
    },
    columns: ['advertiserId', 'name', 'lastSeenAt'],
    rowCount: known.length,
    rows: known.map(({ id, name, lastSeenAt }) => [id, name, lastSeenAt]),
    identity: ['advertiserId'],
  };
}

/** Names come from the store; without it, only the granted ids are known. */
async function advertisersOf(
  { reports }: ToolParts,
  { caller: { team }, ask }: ToolCall,
): Promise<readonly ShownAdvertiser[]> {
  if (!team.scopes.includes('report:read')) return [];
  try {
    return (await teamAdvertisers(reports, { ...ask, query: '' })).advertisers;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'not_ready') throw error;
    const granted = team.advertisers === '*' ? [] : team.advertisers;
    return granted.map((id) => ({ id, name: null, lastSeenAt: null }));
  }
}

export async function getUsage({ showMe }: ToolParts, call: ToolCall): Promise<Table> {
  const { usage } = await showMe(call.caller);
  if (usage === null)
    throw new GatewayError('not_ready', {
      detail: 'The usage store does not respond.',
      retryAfterS: 5,
    });
  return { ...tableOf({ days: 'by UTC, oldest first' }, usage), identity: ['day'] };
}

/** Shown until the team has seen the columns of an answer itself. */
const USUAL = Object.keys(USUAL_COLUMNS);
const isDimension = (name: string) => /^(?:date|day)$/.test(name) || holdsText(name, name);

export async function describeReports(
  { described, seenColumns, rules }: ToolParts,
  { caller }: ToolCall,
  { endpoint }: DescribeArguments,
): Promise<Table> {
  if (endpoint !== undefined && !isEndpointPath(endpoint)) throw invalidQuery(ENDPOINT_FAULT);
  const all = await seenColumns.of(caller);
  const named = endpoint === undefined ? [...new Set([...described.endpoints, ...all.keys()])] : [endpoint];
  const rows = named.flatMap((one) => {
    const seen = all.get(one) ?? [];
    const columns = seen.length > 0 ? seen : USUAL;
    return [
      [one, 'report', '', one === rules.defaultEndpoint ? 'the default' : ''],
      ...described.parameters.map((name) => [one, 'parameter', name, '']),
      ...columns.map((name) => [
        one,
        seen.length > 0 ? 'column' : 'usual column',
        name,
        isDimension(name) ? 'identifies the row' : isAdditive(name) ? 'adds up' : DOES_NOT_ADD_UP,
      ]),
    ];
  });
  return {
    about: {
      freshness: described.freshness,
      splits: 'date, campaign: rows per day, per campaign, or both; none: one row',
      further:
        "Query other reports of the platform by their path, with the platform's parameters as filters.",
    },
    columns: ['endpoint', 'kind', 'name', 'about'],
    rowCount: rows.length,
    rows,
  };
}
