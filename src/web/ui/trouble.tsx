/** Why something did not come: in words, and with the seconds until it is worth asking again. */
import { useEffect, useState } from 'preact/hooks';
import { Refused, wordsOf } from './api.js';
import { span } from './format.js';

interface TroubleProps {
  readonly error: unknown;
  readonly again: () => void;
}

export function Trouble({ error, again }: TroubleProps) {
  const left = useSecondsLeft(error);
  const title = error instanceof Refused ? error.problem.title : 'No answer';
  return (
    <div class="note bad" role="alert">
      <strong>{title}.</strong> <bdi>{wordsOf(error)}</bdi>{' '}
      <button type="button" class="plain" disabled={left > 0} onClick={again}>
        {left > 0 ? `Try again in ${span(left)}` : 'Try again'}
      </button>
    </div>
  );
}

/** Counts `retry-after` down from when the refusal came. */
function useSecondsLeft(error: unknown): number {
  const wait = error instanceof Refused ? (error.retryAfter ?? 0) : 0;
  const [left, setLeft] = useState(wait);
  useEffect(() => {
    setLeft(wait);
    const end = performance.now() + wait * 1000;
    if (wait <= 0) return;
    const timer = setInterval(() => {
      const rest = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      setLeft(rest);
      if (rest === 0) clearInterval(timer);
    }, 1000);
    return () => clearInterval(timer);
  }, [error, wait]);
  return left;
}
