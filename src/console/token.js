import { checkbox, confirmed, field, h, table, when } from './dom.js';

const SLOTS = ['active', 'pending', 'previous'];

/** Expiry closer than this is pointed at. */
const SOON_MS = 30 * 86_400_000;

/** The platform's token: what there is, and the steps of a rotation. */
export async function tokenView(context) {
  const slots = await context.api('GET', 'token');
  return [
    h('h2', {}, 'Platform token'),
    slotsTable(slots),
    h('h3', {}, 'A new token'),
    h(
      'p',
      { class: 'quiet' },
      'Rotate stages a token, proves it by a call and makes it active; when it cannot be proven the active one stays. The steps can be taken singly, too.',
    ),
    newTokenForm(context),
    h('h3', {}, 'Steps'),
    steps(context, slots),
  ];
}

function slotsTable(slots) {
  const held = SLOTS.filter((slot) => slots[slot] !== null);
  if (held.length === 0) return h('p', { class: 'bad' }, 'There is no token.');
  return table(
    'Tokens',
    ['Slot', 'Token', 'Fingerprint', 'Source', 'Made', 'Verified', 'Expires'],
    held.map((slot) => {
      const token = slots[slot];
      return [
        slot,
        h('code', {}, token.id),
        h('code', {}, token.fingerprint),
        token.source,
        when(token.createdAt),
        token.verifiedAt === null ? h('span', { class: 'warn' }, 'no') : when(token.verifiedAt),
        expiry(token),
      ];
    }),
  );
}

function expiry({ expiresAt, expiryKnown }) {
  const leftMs = Date.parse(expiresAt) - Date.now();
  const word = leftMs <= 0 ? 'bad' : leftMs < SOON_MS ? 'warn' : undefined;
  return h('span', { class: word }, when(expiresAt), expiryKnown === false ? ', assumed' : '');
}

function newTokenForm({ api, act }) {
  const secret = h('input', {
    name: 'token',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    required: true,
  });
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const step = event.submitter?.value === 'stage' ? 'stage' : 'rotate';
    const expiresAt = form.get('expires');
    const body = {
      token: form.get('token').trim(),
      ...(expiresAt === '' ? {} : { expiresAt }),
      ...(step === 'rotate' && form.has('force') ? { force: true } : {}),
    };
    secret.value = '';
    await act(
      () => api('POST', `token/${step}`, body),
      step === 'stage' ? 'Staged.' : 'The new token is active.',
    );
  };
  const byRequest = () => act(() => api('POST', 'token/rotate', {}), 'Rotated by the token request.');
  return h(
    'form',
    { onsubmit: submit, 'aria-label': 'A new token' },
    field('Token', secret, true),
    field('Expires (empty: in a year)', h('input', { name: 'expires', type: 'date' })),
    checkbox('Even if nothing proves it', 'force'),
    h('button', { type: 'submit', value: 'rotate' }, 'Rotate to it'),
    h('button', { type: 'submit', value: 'stage' }, 'Only stage it'),
    h('button', { type: 'button', onclick: byRequest }, 'Rotate by the token request'),
  );
}

function steps({ api, act }, slots) {
  const step = ({ label, name, possible, words, question, body = {} }) =>
    h(
      'button',
      {
        type: 'button',
        disabled: !possible,
        onclick: async () => {
          if (question !== undefined && !(await confirmed(question, label))) return;
          await act(() => api('POST', `token/${name}`, body), words);
        },
      },
      label,
    );
  return h('div', { class: 'row' }, stepsOf(slots).map(step));
}

/** Every step of a rotation, and whether it can be taken now. */
function stepsOf({ pending, previous }) {
  return [
    { label: 'Mint', name: 'mint', possible: true, words: 'A token was asked for and staged.' },
    { label: 'Verify', name: 'verify', possible: pending !== null, words: 'The pending token is verified.' },
    {
      label: 'Activate',
      name: 'activate',
      possible: pending !== null && pending.verifiedAt !== null,
      words: 'The pending token is active now.',
    },
    {
      label: 'Activate unproven',
      name: 'activate',
      possible: pending !== null && pending.verifiedAt === null,
      words: 'The pending token is active now, though nothing proved it.',
      question: 'Make the pending token the active one, though nothing proved it?',
      body: { force: true },
    },
    {
      label: 'Discard',
      name: 'discard',
      possible: pending !== null,
      words: 'The pending token is forgotten.',
      question: 'Forget the pending token?',
    },
    {
      label: 'Roll back',
      name: 'rollback',
      possible: previous !== null,
      words: 'The previous token is active again.',
      question: 'Make the previous token the active one?',
    },
  ];
}
