/** A key as it was made: shown this once, in no address and in no storage, gone with the page. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { AnswerTo } from '../../../api/operations/table.js';

export type IssuedKey = AnswerTo<'POST /admin/v1/teams/:id/keys'>;

interface IssuedNoteProps {
  readonly issued: IssuedKey;
  readonly close: () => void;
}

export function IssuedNote({ issued: { key }, close }: IssuedNoteProps) {
  const field = useRef<HTMLInputElement>(null);
  const [said, setSaid] = useState('');
  useEffect(() => field.current?.select(), []);
  const copy = async () => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(key);
      setSaid('Copied.');
    } catch {
      // Without TLS a browser gives no clipboard.
      setSaid('This browser does not let the page copy. The key is selected: press Ctrl+C, or ⌘C.');
    }
  };
  return (
    <section class="note info stack" aria-label="The new key">
      <p>
        <strong>This is the key. It is shown now and never again</strong>: the gateway keeps a hash of it.
        Copy it to where the team keeps its secrets.
      </p>
      <div class="row">
        <input ref={field} class="secret" readOnly spellcheck={false} aria-label="Key" value={key} />
        <button type="button" class="primary" onClick={() => void copy()}>
          Copy
        </button>
        <button type="button" onClick={close}>
          I have it
        </button>
      </div>
      <p class="small" role="status">
        {said}
      </p>
    </section>
  );
}
