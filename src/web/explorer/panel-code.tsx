/** The report on screen as code: a tool each, and a button that copies it. */
import { useRef, useState } from 'preact/hooks';
import { useNotices } from '../ui/notices.js';
import { Card, Choice } from '../ui/parts.js';
import { type Snippet, snippetsOf } from './code.js';
import type { Question } from './question.js';

export function CodePanel({ question }: { readonly question: Question }) {
  const [name, setName] = useState<Snippet['name']>('curl');
  const { act } = useNotices();
  const code = useRef<HTMLPreElement>(null);
  const snippets = snippetsOf(question, location.origin);
  const chosen = snippets.find((one) => one.name === name) ?? snippets[0];
  if (chosen === undefined) return null;
  const copy = (
    <button
      type="button"
      onClick={() => void act(() => copied(chosen.text, code.current), 'The code is copied.')}
    >
      Copy
    </button>
  );
  return (
    <Card title="As code" tools={copy}>
      <Choice
        label="Tool"
        options={snippets.map(({ name: value, title }) => ({ value, title }))}
        value={chosen.name}
        choose={setName}
      />
      <pre ref={code} class="snippet">
        <code>{chosen.text}</code>
      </pre>
      <p class="small quiet">
        {chosen.hint}
        {question.period === '' ? '' : ' The period is counted from the day on which the code runs.'}
      </p>
    </Card>
  );
}

/** Browsers give the clipboard to pages of https and of this machine alone; elsewhere the text is selected and copied. */
async function copied(text: string, shown: HTMLElement | null): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  if (shown !== null) getSelection()?.selectAllChildren(shown);
  if (!document.execCommand('copy')) throw new Error('the browser copies nothing; the code is selected now');
}
