/** How the documentation looks: light and dark, on a phone and on paper. */
export const STYLE = `
:root{color-scheme:light dark;--ink:#1b2430;--soft:#566373;--paper:#fff;--wash:#f4f6f8;--line:#dde3e9;--link:#0a57a8;--mark:#e7f0fa;--shade:#1b243059}
@media(prefers-color-scheme:dark){:root{--ink:#dde4ec;--soft:#94a3b3;--paper:#11161c;--wash:#1a212a;--line:#2b3540;--link:#82b9f7;--mark:#1c2f45;--shade:#dde4ec59}}
*{box-sizing:border-box}
html{scroll-padding-top:4.5rem;-webkit-text-size-adjust:100%}
body{margin:0;font:16px/1.65 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;color:var(--ink);background:var(--paper)}
a{color:var(--link);text-decoration-thickness:1px;text-underline-offset:.15em}
a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:1rem;z-index:2;background:var(--paper);padding:.5rem 1rem}
header{position:sticky;top:0;z-index:1;display:flex;gap:1.5rem;align-items:baseline;padding:.8rem 1.5rem;background:var(--paper);border-bottom:1px solid var(--line)}
header a{white-space:nowrap;text-decoration:none;color:var(--soft);font-size:.92rem}
header a:hover{color:var(--link)}
header .name{font-weight:650;font-size:1.05rem;color:var(--ink)}
header form{flex:1;min-width:0;max-width:20rem;margin-right:auto}
header input{width:100%;font:inherit;font-size:.92rem;padding:.2rem .6rem;color:var(--ink);background:var(--wash);border:1px solid var(--line);border-radius:.35rem}
header input:focus-visible{outline:2px solid var(--link)}
.found{padding-left:1.6rem}
.found{overflow-wrap:anywhere}
.found p{margin:.2rem 0 1rem;color:var(--soft)}
mark{background:var(--mark);color:var(--ink);font-weight:600}
.sheet{display:grid;grid-template-columns:14rem minmax(0,46rem) 13rem;gap:3rem;max-width:82rem;margin:0 auto;padding:0 1.5rem}
.shelves,aside .contents{position:sticky;top:3.6rem;max-height:calc(100vh - 3.6rem);overflow:auto;padding:1.6rem 0 2rem;font-size:.92rem}
.shelves{margin-left:-.6rem;padding-left:.6rem}
.shelves h2,.contents h2{margin:1.2rem 0 .3rem;font-size:.74rem;letter-spacing:.06em;text-transform:uppercase;color:var(--soft);border:0;padding:0}
.shelves h2:first-of-type,.contents h2{margin-top:0}
.shelves ul,.contents ul{list-style:none;margin:0;padding:0}
.shelves li a{display:block;padding:.22rem .6rem;margin:0 0 0 -.6rem;border-radius:.35rem;text-decoration:none;color:var(--ink)}
.shelves li a:hover{background:var(--wash)}
.shelves [aria-current]{background:var(--mark);color:var(--link);font-weight:600}
header .pages{display:none}
.contents li a{display:block;padding:.16rem 0;text-decoration:none;color:var(--soft);line-height:1.4}
.contents li a:hover{color:var(--link)}
.contents .of3{padding-left:.9rem}
.contents code{background:none;padding:0}
main{padding:1.8rem 0 5rem;min-width:0}
main>details.contents{display:none}
h1{font-size:2rem;line-height:1.2;letter-spacing:-.015em;margin:0 0 1.2rem}
main h2{font-size:1.4rem;line-height:1.3;margin:2.6rem 0 .7rem;padding-top:1.2rem;border-top:1px solid var(--line)}
main h3{font-size:1.1rem;margin:1.9rem 0 .5rem}
a:has(>code:only-child){text-decoration:none}
.anchor{color:inherit;text-decoration:none}
.anchor:hover::after{content:" #";color:var(--soft)}
:target{background:var(--mark)}
code{font:.875em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:var(--wash);padding:.12em .35em;border-radius:.3em;overflow-wrap:anywhere}
pre{background:var(--wash);border:1px solid var(--line);border-radius:.5rem;padding:.9rem 1.1rem;overflow-x:auto}
pre code{background:none;padding:0;overflow-wrap:normal}
pre[data-lang=json]{white-space:pre-wrap}pre[data-lang=json] code{overflow-wrap:anywhere}
.table{overflow-x:auto;margin:1rem 0;background:linear-gradient(90deg,var(--paper) 30%,transparent) left/3rem 100% no-repeat local,linear-gradient(270deg,var(--paper) 30%,transparent) right/3rem 100% no-repeat local,linear-gradient(90deg,var(--shade),transparent) left/.9rem 100% no-repeat scroll,linear-gradient(270deg,var(--shade),transparent) right/.9rem 100% no-repeat scroll}
table{border-collapse:collapse;width:100%;font-size:.92rem;line-height:1.5}
th,td{text-align:left;vertical-align:top;padding:.45rem .9rem .45rem 0;border-bottom:1px solid var(--line);min-width:5rem}
td:last-child,th:last-child{padding-right:0}
td code{overflow-wrap:break-word}
th{font-weight:600;color:var(--soft);font-size:.85rem}
.right{text-align:right}.center{text-align:center}
blockquote{margin:1rem 0;padding:.1rem 1.1rem;border-left:3px solid var(--line);color:var(--soft)}
.sheet svg{display:block;max-width:100%;height:auto}
.lead{font-size:1.1rem;color:var(--soft)}
@media(max-width:76rem){.sheet{grid-template-columns:13rem minmax(0,1fr);gap:2.5rem}aside{display:none}main>details.contents{display:block;margin:0 0 1.5rem;padding:.6rem 1rem;background:var(--wash);border-radius:.5rem}}
@media(max-width:48rem){pre{white-space:pre-wrap}pre code{overflow-wrap:anywhere}td code{overflow-wrap:anywhere}.stacked thead{position:absolute;left:-99rem}.stacked :is(tbody,tr,td){display:block}.stacked tr{padding:.7rem 0;border-bottom:1px solid var(--line)}.stacked td{border:0;padding:.15rem 0;text-align:left}.stacked td:first-child{font-weight:600}.stacked td:empty{display:none}.stacked td[data-head]::before{content:attr(data-head) ": ";color:var(--soft);font-size:.85rem}.sheet{display:flex;flex-direction:column;gap:0;padding:0 1.1rem}header .pages{display:inline}header .rest{display:none}html{scroll-padding-top:8.5rem}header{flex-wrap:wrap;padding:.7rem 1.1rem;gap:.5rem .6rem}header .name{margin-right:auto}header form{order:1;flex-basis:100%;max-width:none}.shelves{order:2;position:static;max-height:none;padding:1.5rem 0 3rem;border-top:1px solid var(--line)}.shelves li a{padding:.45rem .6rem}main{padding:1.3rem 0 3rem}h1{font-size:1.65rem}}
@media print{header,.shelves,aside,main>details.contents{display:none}.sheet{display:block;max-width:none}pre{white-space:pre-wrap}}
`;
