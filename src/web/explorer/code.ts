/** The shown query as code, which reads the key from the tool's secrets. Pure. */
import { placeOf, type Question, queryOf } from './question.js';

export const BY_ENVIRONMENT = 'The key is read from the environment: export DSP_GATEWAY_KEY=dgw_…';

/** @param origin of the data plane */
export function snippetsOf(question: Question, origin: string) {
  const place = origin + placeOf(question);
  const json = queryOf(question, { _format: 'json' });
  const csv = queryOf(question, { _format: 'csv' });
  return [
    { name: 'curl', title: 'curl', hint: BY_ENVIRONMENT, text: curl(place, json) },
    {
      name: 'javascript',
      title: 'JavaScript',
      hint: `A module for Node 20 or later, report.mjs. ${BY_ENVIRONMENT}`,
      text: javascript(place, json),
    },
    {
      name: 'python',
      title: 'Python',
      hint: `Python 3.9 or later, without packages. ${BY_ENVIRONMENT}`,
      text: python(place, json),
    },
    {
      name: 'sheets',
      title: 'Google Sheets',
      hint: 'Extensions, Apps Script. The key goes into Project Settings, Script properties, as DSP_GATEWAY_KEY. Google’s servers must reach the gateway.',
      text: sheets(place, csv),
    },
  ];
}

/** Between single quotes only the quote is special to a shell. */
const shellText = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Invisible characters and those that change the text direction: a line would read differently from what it does. */
const UNSEEN = /[\u007f-\u009f\u2028\u2029]|\p{Cf}/gu;

/** A literal of both JavaScript and Python. @param text without lone surrogates */
function literal(text: string): string {
  return JSON.stringify(text).replace(UNSEEN, (sign) =>
    sign.length > 1 ? sign : `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const entriesOf = (query: URLSearchParams, indent: string): string =>
  [...query].map(([name, value]) => `${indent}${literal(name)}: ${literal(value)},`).join('\n');

function curl(place: string, query: URLSearchParams): string {
  return `curl --silent --show-error --fail-with-body --globoff \\
  --header "x-api-key: $DSP_GATEWAY_KEY" \\
  ${shellText(`${place}?${query}`)}
`;
}

function javascript(place: string, query: URLSearchParams): string {
  return `const query = new URLSearchParams({
${entriesOf(query, '  ')}
});
const response = await fetch(${literal(`${place}?`)} + query, {
  headers: { "x-api-key": process.env.DSP_GATEWAY_KEY },
});
if (!response.ok) throw new Error(await response.text());
const { data, meta } = await response.json();
console.log(JSON.stringify(data, null, 2));
`;
}

function python(place: string, query: URLSearchParams): string {
  return `import json, os, sys
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

query = {
${entriesOf(query, '    ')}
}
url = ${literal(`${place}?`)} + urlencode(query)
try:
    with urlopen(Request(url, headers={"x-api-key": os.environ["DSP_GATEWAY_KEY"]})) as answer:
        rows = json.load(answer)["data"]
except HTTPError as error:
    sys.exit(error.read().decode())
print(json.dumps(rows, indent=2))
# With pandas: frame = pandas.DataFrame(rows)
`;
}

function sheets(place: string, query: URLSearchParams): string {
  return `function refresh() {
  const key = PropertiesService.getScriptProperties().getProperty("DSP_GATEWAY_KEY");
  const url = ${literal(`${place}?${query}`)};
  const answer = UrlFetchApp.fetch(url, { headers: { "x-api-key": key }, muteHttpExceptions: true });
  if (answer.getResponseCode() !== 200) throw new Error(answer.getContentText());
  const rows = Utilities.parseCsv(answer.getContentText());
  const book = SpreadsheetApp.getActive();
  const sheet = book.getSheetByName("report") || book.insertSheet("report");
  sheet.clearContents();
  if (rows.length > 0) sheet.getRange(1, 1, rows.length, rows[0].length).setValues(rows);
}
`;
}
