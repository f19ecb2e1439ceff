/** How far the reports of several advertisers are, with a stop. */
import { Button } from '../ui/parts.js';
import { counted, numbers } from './numbers.js';
import { isOpen, type Several } from './use-several.js';

interface ProgressProps {
  readonly several: Several;
  readonly nameOf: (id: string) => string | null;
  /** Whether what failed may come if it is asked again. */
  readonly mayCome: boolean;
}

/** Says what is asked, with a stop; at the end what is missing. */
export function Progress({ several: { loads, stop, resume }, nameOf, mayCome }: ProgressProps) {
  const loading = loads.find(({ is }) => is === 'loading');
  const loaded = loads.filter(({ is }) => is === 'loaded').length;
  const all = `${numbers.whole(loaded)} of ${counted(loads.length, 'advertiser')}`;
  if (loads.some(isOpen)) {
    const next = loading === undefined ? '' : `, asking for ${nameOf(loading.id) ?? loading.id} …`;
    return (
      <div class="row">
        <p class="looking" role="status">
          {all}
          {next}
        </p>
        <Button label="Stop" act={stop} />
      </div>
    );
  }
  if (loaded === loads.length) return null;
  const isStopped = loads.some(({ is }) => is === 'stopped');
  return (
    <div class="row">
      <p role="status">
        {isStopped ? 'Stopped: ' : ''}
        {all}.
      </p>
      {mayCome ? <Button label={isStopped ? 'Go on' : 'Ask again for the others'} act={resume} /> : null}
    </div>
  );
}
