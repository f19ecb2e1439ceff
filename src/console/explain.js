import { field, fields, h, span, table, when } from './dom.js';

const WORDS = { fresh: 'good', final: 'good', stale: 'warn', missing: 'bad' };

/** What is asked last, kept while the page lives. */
let asked = { endpoint: 'campaigns/get', query: 'advertiserId=1&byDate=1&_period=last_7_days' };

/** What the cache holds of a report, day by day, and what answering it would cost. */
export async function explainView({ api, act }) {
  const answer = h('div', { 'aria-live': 'polite' });
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    asked = { endpoint: form.get('endpoint').trim(), query: form.get('query').trim().replace(/^.*\?/, '') };
    await act.quietly(async () => {
      answer.replaceChildren(...explained(await api('GET', `cache/explain?${new URLSearchParams(asked)}`)));
    });
  };
  return [
    h('h2', {}, 'Explain a report'),
    h(
      'form',
      { onsubmit: submit, 'aria-label': 'Explain a report' },
      field('Endpoint', h('input', { name: 'endpoint', required: true, value: asked.endpoint })),
      field(
        'Query, or the whole address',
        h('input', { name: 'query', required: true, spellcheck: 'false', value: asked.query }),
        true,
      ),
      h('button', { type: 'submit' }, 'Explain'),
    ),
    answer,
  ];
}

function explained({ canonical, key, policy, days, whole, calls, storeAway, warnings }) {
  const pieces = days ?? (whole === null ? [] : [{ date: 'whole report', ...whole }]);
  return [
    storeAway && h('p', { class: 'warn' }, 'The store is away: nothing could be looked up.'),
    ...warnings.map(({ message }) => h('p', { class: 'warn' }, message)),
    fields([
      ['Asked as', h('code', {}, `${canonical.method} ${canonical.target}`)],
      ['Key', h('code', {}, key)],
      ['Kept', `${policy.mode === 'days' ? 'day by day' : 'as one entry'}: ${policy.because}`],
      ['Learned', learned(policy.divisibility)],
    ]),
    table(
      'Days',
      ['Day', 'State', 'As of', 'Age', 'Fresh for', { head: 'Rows', number: true }],
      pieces.map((piece) => [
        piece.date,
        h('span', { class: WORDS[piece.state] }, piece.state),
        when(piece.asOf),
        span(piece.ageSeconds),
        span(piece.ttlSeconds),
        piece.rows,
      ]),
    ),
    h(
      'p',
      {},
      calls.length === 0
        ? 'Answering it now makes no platform call.'
        : `Answering it now makes ${calls.length} platform call${calls.length === 1 ? '' : 's'}:`,
    ),
    h(
      'ul',
      {},
      calls.map(({ from, to }) => h('li', {}, `${from ?? 'open'} to ${to ?? 'open'}`)),
    ),
  ].filter(Boolean);
}

/** How far a kind of report got on the way to being split by day. */
function learned(divisibility) {
  if (divisibility === null) return null;
  const { state, agreements, trials = [] } = divisibility;
  return state === 'probation'
    ? `probation, ${trials.length} of 5 trials`
    : state === 'learning'
      ? `learning, ${agreements.length} agreements`
      : state;
}
