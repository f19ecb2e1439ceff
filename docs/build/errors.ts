/** The pages about errors, from the catalogue: the list, and one for each code. */

import { escapeHtml } from '../../src/api/data/docs-search.js';
import { CATALOGUE, remedyOf } from '../../src/errors/catalogue.js';
import { type ErrorCode, GatewayError, type GatewayErrorOptions, statusOf } from '../../src/errors.js';
import { mustBe } from '../../src/lib/field-faults.js';
import { toProblem } from '../../src/lib/http/problem.js';
import type { ReaderPage } from './layout.js';

const LIST = '/docs/errors';
const REQUEST_ID = 'db355aeb-a3ab-41ab-a508-363b8e465f60';
/** What a request adds to its problem. */
const EXAMPLES: Readonly<Partial<Record<ErrorCode, GatewayErrorOptions>>> = {
  invalid_query: { errors: [mustBe('dateFrom', 'a calendar day as YYYY-MM-DD')] },
  invalid_body: { errors: [mustBe('label', 'text')] },
  undeclared_parameter: {
    errors: [
      {
        param: 'filter',
        message: 'is not declared',
        help: 'Omit filter, or ask your operator to declare it in report.endpoints."campaigns/get".knownParameters, or in report.nonAccountParameters if it is an expression, an object or a list of objects.',
      },
    ],
  },
  upstream_rejected: { upstream: { message: 'The campaign has ended.' } },
};

/** @returns pages with their paths; the status of some codes is another one on the admin plane */
export function errorPages(admin: boolean): readonly (ReaderPage & { readonly path: string })[] {
  const pages = Object.entries(CATALOGUE).map(([code, { title }]) => ({
    path: `${LIST}/${code}`,
    address: LIST,
    title,
    html: errorPage(code as ErrorCode, admin),
  }));
  return [...pages, { path: LIST, address: LIST, title: 'Errors', html: errorList(admin) }];
}

function errorList(admin: boolean): string {
  const cells = Object.entries(CATALOGUE).map(([code, entry]) => [
    shownStatus(code as ErrorCode, admin),
    `<a href="/docs/errors/${code}"><code>${code}</code></a>`,
    prose(entry.meaning),
    prose(remedyOf(entry)),
  ]);
  // Stable: codes of a status stay in the order of the catalogue.
  const rows = cells
    .toSorted(([a = ''], [b = '']) => a.localeCompare(b))
    .map(
      ([status, code, means, remedy]) =>
        `<tr><td>${status}</td><td>${code}</td><td>${means}</td><td data-head="What to do">${remedy}</td></tr>`,
    );
  return `<p>Every error is a problem document: <code>application/problem+json</code>, RFC 9457. Its <code>type</code> leads to
the page of its <code>code</code> below; <code>detail</code> says what is wrong with this request, <code>help</code> what to
do next, and <code>requestId</code> is what to tell the operator. Programs repeat on 429, 502, 503 and 504 after
<code>retry-after</code> seconds if that is at most a minute, but not on <code>not_cached</code>; on other 4xx they change the request.</p>
<div class="table" tabindex="0"><table class="stacked"><thead><tr><th>Status</th><th>Code</th><th>Means</th><th>What to do</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`;
}

function errorPage(code: ErrorCode, admin: boolean): string {
  const entry = CATALOGUE[code];
  // Made as the gateway makes it.
  const options = { status: statusOf(code, admin), ...EXAMPLES[code] };
  const example = toProblem(new GatewayError(code, options), REQUEST_ID);
  return `<p>HTTP <code>${shownStatus(code, admin)} ${code}</code></p>
<p class="lead">${prose(entry.meaning)}</p>
<h2>What to do</h2>
<p>${prose(remedyOf(entry))}</p>
<h2>Example</h2>
<pre tabindex="0"><code>${escapeHtml(JSON.stringify(example, null, 2))}</code></pre>
<p><a href="/docs/errors">All errors</a></p>`;
}

/** The one error without a status of its own. */
function shownStatus(code: ErrorCode, admin: boolean): string {
  return code === 'upstream_rejected' ? '4xx' : String(statusOf(code, admin));
}

/** Plain text in which backquotes mark code. */
function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}
