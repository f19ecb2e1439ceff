/** Pages of the docs, and parts of them, that are made from what the code says. */
import { CATALOGUE, remedyOf } from '../../src/errors/catalogue.js';
import { type ErrorCode, statusOf } from '../../src/errors.js';
import { SWITCHES } from '../../src/simulator/switches.js';

/** `docs/errors.md`, whole. */
export function errorsPage(): string {
  // Stable: codes of a status stay in the order of the catalogue.
  const sorted = Object.entries(CATALOGUE).toSorted(([, a], [, b]) => a.status - b.status);
  const rows = sorted.map(([code, entry]) => {
    const [data, admin] = [false, true].map((plane) => statusOf(code as ErrorCode, plane));
    const own = data === admin ? data : `${data}; ${admin} on the admin plane`;
    // The one error without a status of its own.
    const shown = (code as ErrorCode) === 'upstream_rejected' ? '4xx' : own;
    return `| ${shown} | \`${code}\` | ${cell(entry.meaning)} | ${cell(remedyOf(entry))} |`;
  });
  return `# Errors

**In short:** every error is a problem document: \`application/problem+json\`, RFC 9457.

\`\`\`json
{"type":"/docs/errors/advertiser_forbidden","title":"Advertiser forbidden","status":403,
 "detail":"The team has no access to advertiser 4 in advertiserId.",
 "help":"Choose one of the advertisers of your team (1, 2); for another, ask your operator to add it to the team growth.",
 "code":"advertiser_forbidden","requestId":"db355aeb-a3ab-41ab-a508-363b8e465f60"}
\`\`\`

| Member | |
|---|---|
| \`code\` | for programs; one of the table below |
| \`status\`, \`title\` | belong to the code |
| \`detail\` | for people: what is wrong with this request |
| \`help\` | for people: what to do next, in one sentence; of several faults the corrections, of the first five. Without a valid key it is the one of the table below, or for a 404 an address that is near; with one it gives names, of the team's own scopes and advertisers alone |
| \`errors\` | \`[{"param","message"}]\`, one for each fault of a query or body |
| \`upstream\` | with \`upstream_rejected\`: the platform's own words, at most 1 KiB |
| \`known\` | \`[{"from","to"}]\`: of a report by date that the platform failed to complete, or that needs more platform calls than the team has left today (\`upstream_budget_exhausted\`), the periods whose days are answered from the cache, newest first, at most 5; absent if there is none. \`help\` names the first as a request |
| \`type\` | the code's page, on the gateway itself |
| \`requestId\` | to be told to the operator; the same as \`x-request-id\` |

\`retry-after\` (seconds) comes with 429, with 503 when it is known, and with 502 \`upstream_error\` and 504 \`upstream_timeout\` except for writes; \`help\` has it in words.

| Status | Code | Means | What to do |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** The simulator's switches, for `docs/simulator.md`. */
export function switchesTable(): string {
  const rows = Object.entries(SWITCHES).map(
    ([name, { default: initial, allowed, about }]) =>
      `| \`${name}\` | \`${JSON.stringify(initial)}\` | ${cell(about)} | ${cell(allowed)} |`,
  );
  return ['| Switch | Default | | Allowed |', '|---|---|---|---|', ...rows].join('\n');
}

/** @returns the page with what lies between the markers of a part replaced. @throws when they are not there */
export function replacePart(page: string, name: string, part: string): string {
  const pattern = new RegExp(`(<!-- ${name}: [^\\n]*-->\\n)[\\s\\S]*?(<!-- end -->)`);
  if (!pattern.test(page)) throw new Error(`the page has no part ${name}`);
  return page.replace(pattern, (_whole, start: string, end: string) => `${start}\n${part}\n\n${end}`);
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
