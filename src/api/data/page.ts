/** A page for people, as the errors and `/` have one: no script, and nothing loaded. */
import type { FastifyReply } from 'fastify';

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

export function sendPage(reply: FastifyReply, html: string, policy = POLICY): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', policy)
    .header('x-content-type-options', 'nosniff')
    .send(html);
}

/** @param content as HTML */
export function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)} · dsp-gateway</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head><body><h1>${escapeHtml(title)}</h1>
${content}
</body></html>`;
}

const STYLE = `
body{font:16px/1.6 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color:#1c2530;background:#fff}
code{background:#eef1f4;padding:.1em .3em;border-radius:.25em;overflow-wrap:anywhere}
a{color:#0b5cad}
table{border-collapse:collapse}
th,td{text-align:left;vertical-align:top;padding:.3rem .75rem .3rem 0}
@media(prefers-color-scheme:dark){body{color:#dfe6ee;background:#12171d}code{background:#222a33}a{color:#7db7f5}}
`;

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
