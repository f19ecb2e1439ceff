import { advertiserName } from './advertiser-names.js';
import { type Paging, pageMembers } from './paging.js';
import type { Switches } from './switches.js';
import type { CreativeRow, TruthRow } from './truth.js';

export type ReportRow = TruthRow | CreativeRow;

/** How rows are rendered. */
export interface Frame {
  readonly switches: Switches;
  readonly byDate: boolean;
  readonly byCampaign: boolean;
  /** Rows have `viewableImpressions`. */
  readonly tellsViewable: boolean;
  /** For the shape `paged`. */
  readonly paging: Paging;
  /** Unsplit rows of the period, for the shape `totals`. */
  unsplit(): readonly TruthRow[];
  /** The caller's token, if rows show it. */
  readonly echo: string | undefined;
}

/** In the order of columns. */
const KINDS = {
  date: 'date',
  creativeId: 'id',
  creativeName: 'text',
  campaignId: 'id',
  campaignName: 'text',
  advertiserId: 'id',
  advertiserName: 'text',
  currency: 'text',
  impressions: 'count',
  clicks: 'count',
  spent: 'decimal',
  reach: 'count',
  viewableImpressions: 'count',
} as const;
type Member = keyof typeof KINDS;
type Column = (typeof COLUMNS)[number];

const COLUMNS = Object.entries(KINDS).map(([member, kind]) => {
  const snake = member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { member: member as Member, snake, kind };
});

/** JSON in the form that the switches select. */
export function renderJson(rows: readonly ReportRow[], frame: Frame): string {
  const { shape, rowsAccount } = frame.switches;
  const columns = COLUMNS.filter(({ member }) => rowsAccount || member !== 'advertiserId');
  const texts = withNames(rows, frame.switches).map((row) => rowText(row, columns, frame));
  const list = (items: readonly string[]) => `[${items.join(',')}]`;
  switch (shape) {
    case 'array':
      return list(texts);
    case 'nested':
      return `{"status":"ok","result":{"rows":${list(texts)}}}`;
    case 'totals':
      return `{"data":${list(texts)},"totals":${totalsText(frame)}}`;
    case 'paged':
      return pagedText(texts, frame);
    case 'object':
      return !frame.byDate && !frame.byCampaign && texts[0] && texts.length === 1
        ? texts[0]
        : `{"data":${list(texts)}}`;
    case 'data':
      return `{"data":${list(texts)}}`;
  }
}

/** RFC 4180 text with a header line, and values as in JSON. */
export function renderCsv(rows: readonly ReportRow[], frame: Frame): string {
  const { names, rowsAccount } = frame.switches;
  const columns = COLUMNS.filter(({ member }) => {
    if (member === 'date') return frame.byDate;
    if (member === 'campaignId' || member === 'campaignName') return frame.byCampaign;
    if (member === 'creativeId' || member === 'creativeName') return false;
    if (member === 'advertiserName') return frame.switches.accountNames !== 'none';
    if (member === 'viewableImpressions') return frame.tellsViewable;
    return member !== 'advertiserId' || rowsAccount;
  });
  const header = columns.map(({ member, snake }) => (names === 'camel' ? member : snake));
  const lines = withNames(rows, frame.switches).map((row) =>
    columns.map((column) => csvCell(String(spell(column, memberOf(row, column.member), frame.switches)))),
  );
  const echo = frame.echo === undefined ? [] : [[csvCell(`debug ${frame.echo}`)]];
  return [header, ...lines, ...echo].map((cells) => `${cells.join(',')}\r\n`).join('');
}

function withNames(rows: readonly ReportRow[], { accountNames }: Switches): readonly ReportRow[] {
  if (accountNames === 'none') return rows;
  return rows.map((row) => ({ ...row, advertiserName: advertiserName(row.advertiserId, accountNames) }));
}

function csvCell(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function rowText(row: ReportRow, columns: readonly Column[], { switches, echo }: Frame): string {
  let text = '';
  for (const column of columns) {
    const value = memberOf(row, column.member);
    if (value === undefined) continue;
    const name = switches.names === 'camel' ? column.member : column.snake;
    text += `${text === '' ? '{' : ','}"${name}":${JSON.stringify(spell(column, value, switches))}`;
  }
  if (switches.hugeNumbers) text += ',"serial":9007199254740993,"weight":1e400,"score":0.1234567890123456789';
  if (echo !== undefined) text += `,"debug":${JSON.stringify(echo)}`;
  return `${text}}`;
}

function memberOf(row: ReportRow, member: Member): string | number | undefined {
  const values: Partial<Record<Member, string | number>> = row;
  return values[member];
}

function spell({ kind }: Column, value: string | number | undefined, switches: Switches): string | number {
  if (value === undefined) return '';
  if (kind === 'decimal') return switches.decimals === 'strings' ? Number(value).toFixed(4) : value;
  if (kind === 'id') return switches.ids === 'strings' ? String(value) : value;
  if (kind !== 'date') return value;
  if (switches.dates === 'datetime') return `${value} 00:00:00`;
  return switches.dates === 'iso' ? `${value}T00:00:00.000000Z` : value;
}

function totalsText({ switches, unsplit }: Frame): string {
  let [impressions, clicks, spent, reach] = [0, 0, 0, 0];
  for (const row of unsplit()) {
    impressions += row.impressions;
    clicks += row.clicks;
    spent += row.spent;
    // Advertisers have disjoint people, so their reach may be added.
    reach += row.reach;
  }
  const rounded = Number(spent.toFixed(4));
  return JSON.stringify({
    impressions,
    clicks,
    spent: switches.decimals === 'strings' ? rounded.toFixed(4) : rounded,
    reach,
  });
}

function pagedText(texts: readonly string[], { paging }: Frame): string {
  const { page, perPage } = paging;
  const shown = texts.slice((page - 1) * perPage, page * perPage);
  const { links, meta } = pageMembers(texts.length, shown.length, paging);
  return `{"data":[${shown.join(',')}],"links":${JSON.stringify(links)},"meta":${JSON.stringify(meta)}}`;
}
