/** How the report on screen is kept, and what asking for it again would cost; the platform is not asked. */
import { type Explained, KeptDays, KeptFigures, KeptWords } from '../ui/kept.js';
import { Card, Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import { aboutPath, type Question } from './question.js';

export function ExplainPanel({ question }: { readonly question: Question }) {
  const loaded = useGet<Explained>(aboutPath('explain', question));
  const again = (
    <button type="button" class="plain" onClick={loaded.reload}>
      Look again
    </button>
  );
  return (
    <Card title="Where it comes from" tools={again}>
      <Wait of={loaded}>
        {(explained) => (
          <>
            <KeptWords explained={explained} />
            <KeptFigures explained={explained} />
            <KeptDays explained={explained} />
          </>
        )}
      </Wait>
    </Card>
  );
}
