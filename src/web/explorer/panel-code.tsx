/** The shown report as code for several tools. */
import { useRef } from 'preact/hooks';
import { copied, useNotices } from '../ui/notices.js';
import { Button, Card, Choice } from '../ui/parts.js';
import { snippetsOf } from './code.js';
import type { Viewed } from './question.js';

/** The selected tool is in the address, which can be shared. */
export function CodePanel({ question, view, setView }: Viewed) {
  const { act } = useNotices();
  const code = useRef<HTMLPreElement>(null);
  const snippets = snippetsOf(question, location.origin);
  const chosen = snippets.find((one) => one.name === view.tool) ?? snippets[0];
  if (chosen === undefined) return null;
  const copy = () => act(() => copied(chosen.text, code.current), 'Code copied.');
  return (
    <Card title="As code" tools={<Button label="Copy" act={copy} />}>
      <Choice
        label="Tool"
        options={snippets.map(({ name: value, title }) => ({ value, title }))}
        value={chosen.name}
        choose={(tool) => setView({ tool }, true)}
      />
      <pre ref={code}>
        <code>{chosen.text}</code>
      </pre>
      <p class="small quiet">
        {chosen.hint}
        {question.period === '' ? '' : ' The period is relative to the day on which the code runs.'}
      </p>
    </Card>
  );
}
