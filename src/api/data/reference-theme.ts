/** What the API reference has beside Swagger UI's own page: the reader's colours, the width of a phone, and ways back. */

import { FIELD } from './docs-pages.js';

/** Dark before the script runs, so that nothing flashes. Swagger UI draws the rest of it for `dark-mode`. */
const STYLE = `
.ways{position:sticky;top:0;z-index:9;display:flex;flex-wrap:wrap;gap:.3rem 1.5rem;align-items:baseline;padding:.8rem 1.5rem;background:#fff;border-bottom:1px solid #dde3e9;font:.92rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
.ways a{color:#566373;text-decoration:none}
.ways a:hover,.ways a:focus-visible{color:#0a57a8;text-decoration:underline}
.ways a:first-child{font-size:1.05rem;font-weight:650;color:#1b2430}
.ways form{flex:1;max-width:20rem;margin-right:auto}
.ways input{width:100%;font:inherit;padding:.2rem .6rem;color:inherit;background:#f4f6f8;border:1px solid #dde3e9;border-radius:.35rem}
.first{display:flex;flex-wrap:wrap;gap:.3rem 1rem;align-items:baseline;max-width:1460px;margin:1rem auto 0;padding:0 20px;font:.92rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
.first code{overflow-wrap:anywhere;font-family:ui-monospace,Menlo,Consolas,monospace}
.swagger-ui .info a{overflow-wrap:anywhere}
.swagger-ui .response-col_links{display:none}
.swagger-ui tr[data-code]:not([data-code^="2"],[data-code="429"],[data-code=default]) :is(.model-example,.headers-wrapper,.response-controls){display:none}
.swagger-ui table.headers td{padding:.25rem .75rem .25rem 0;font:.82rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;vertical-align:top}
.swagger-ui table.headers tbody tr td:first-of-type{padding:.25rem .9rem .25rem 0;white-space:nowrap;font-family:ui-monospace,Menlo,Consolas,monospace}
@media(max-width:48rem){.ways{padding:.7rem 1.1rem;gap:.3rem 1rem}.ways a:first-child{margin-right:auto}.ways form{order:1;flex-basis:100%;max-width:none}.first{padding:0 1.1rem}.swagger-ui .wrapper{padding:0 .8rem}.swagger-ui .info{margin:1.5rem 0}.swagger-ui .opblock .opblock-summary-description{display:none}.swagger-ui table.headers :is(tbody,tr,td){display:block}.swagger-ui table.headers thead,.swagger-ui table.headers td:last-child{display:none}.swagger-ui table.headers tbody tr td{padding:0}.swagger-ui table.headers tbody tr td:first-of-type{padding:.6rem 0 0}}
@media(prefers-color-scheme:dark){html,body{background:#1c2022}.first{color:#dde4ec}.first a{color:#82b9f7}.swagger-ui table.headers td{color:#dde4ec}.ways{background:#11161c;border-color:#2b3540;color:#dde4ec}.ways input{background:#1a212a;border-color:#2b3540}.ways a{color:#94a3b3}.ways a:first-child{color:#dde4ec}.ways a:hover,.ways a:focus-visible{color:#82b9f7}}
`;

/** Runs after Swagger UI's own scripts, whose page has neither a viewport nor a place for links. */
const script = (links: string, call: string) => `
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
document.head.insertAdjacentHTML('beforeend', '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">');
document.body.insertAdjacentHTML('afterbegin', ${JSON.stringify(links)});
document.querySelector('.first code').textContent = ${JSON.stringify(call)}.replace('ORIGIN', location.origin);
`;

/** @param admin whether the reference is that of the admin plane, whose `/` is the console */
export function referenceTheme(title: string, admin: boolean) {
  const people = admin ? '<a href="/">Console</a>' : '<a href="/explorer">Explorer</a>';
  const next = admin
    ? '<a href="/docs/operations">Operations</a>'
    : '<a href="/docs/first-steps">First steps</a>';
  const links = `<nav class="ways" aria-label="Pages"><a href="/docs">dsp-gateway</a><form role="search" action="/docs/search">${FIELD} maxlength="100" placeholder="Search" aria-label="Search the documentation"></form>${people}<a href="/docs">Documentation</a></nav><div class="first"><code></code>${next}</div>`;
  const call = admin
    ? 'curl -s -H "authorization: Bearer $ADMIN_TOKEN" ORIGIN/admin/v1/status'
    : 'curl -s -H "x-api-key: $KEY" ORIGIN/gateway/v1/me';
  return {
    title,
    css: [{ filename: 'reference.css', content: STYLE }],
    js: [{ filename: 'reference.js', content: script(links, call) }],
  };
}
