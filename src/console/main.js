/** The console: one page over the admin API. It holds nothing but what it shows. */
import { createApi, Refused } from './api.js';
import { auditView } from './audit.js';
import { explainView } from './explain.js';
import { statusView } from './status.js';
import { teamsView, teamView } from './teams.js';
import { tokenView } from './token.js';

const VIEWS = {
  status: statusView,
  teams: teamsView,
  team: teamView,
  token: tokenView,
  explain: explainView,
  audit: auditView,
};

const byId = (id) => document.getElementById(id);
const [nav, leave, enter, input, view, news, fault] = [
  'nav',
  'leave',
  'enter',
  'token',
  'view',
  'news',
  'fault',
].map(byId);

/** @type {ReturnType<typeof createApi> | null} */
let api = null;
/** Counts what is shown, so that a slow answer does not replace a later view. */
let shown = 0;

enter.addEventListener('submit', (event) => {
  event.preventDefault();
  const candidate = createApi(input.value.trim());
  input.value = '';
  void guarded(async () => {
    await candidate('GET', 'status');
    api = candidate;
    await show(true);
  });
});

leave.addEventListener('click', () => {
  forget();
  tell('The admin token is forgotten.');
});
window.addEventListener('hashchange', () => {
  if (location.hash.startsWith('#/')) void show(true);
});

function forget() {
  api = null;
  shown += 1;
  view.replaceChildren();
  for (const part of [nav, leave, view]) part.hidden = true;
  enter.hidden = false;
  input.focus();
}

/** @param {boolean} moved whether the reader went to another view, whose heading then has the focus */
async function show(moved) {
  if (api === null) return;
  const mine = ++shown;
  const [, name = 'status', argument = ''] = location.hash.split('/');
  const make = Object.hasOwn(VIEWS, name) ? VIEWS[name] : statusView;
  for (const link of nav.querySelectorAll('a')) {
    const current = link.hash === `#/${name === 'team' ? 'teams' : name}`;
    if (current) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  await guarded(async () => {
    const content = await make({ api, refresh: () => show(false), act, tell }, decodeURIComponent(argument));
    if (mine !== shown) return;
    view.replaceChildren(...content);
    for (const part of [nav, leave, view]) part.hidden = false;
    enter.hidden = true;
    const heading = view.querySelector('h2');
    document.title = `${heading.textContent} · dsp-gateway`;
    heading.tabIndex = -1;
    // What was pressed is gone with the old content; a dialog that was opened meanwhile keeps the focus.
    if (moved || document.activeElement === document.body) heading.focus();
  });
}

/** Does something, says so, and shows what is so then. */
async function act(work, words) {
  await guarded(async () => {
    await work();
    await show(false);
    tell(words);
  });
}

/** The same without a word, and without showing anything anew. */
act.quietly = guarded;

function tell(words) {
  fault.textContent = '';
  news.textContent = words;
}

async function guarded(work) {
  news.textContent = '';
  fault.textContent = '';
  try {
    await work();
  } catch (error) {
    if (error instanceof Refused && error.status === 401) forget();
    fault.textContent =
      error instanceof Refused ? error.message : `The admin plane cannot be reached (${error.message}).`;
  }
}

input.focus();
