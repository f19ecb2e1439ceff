/** On every page while writes are stopped: whose, since when, by whom and why. */
import { moment } from '../../ui/format.js';
import { Name } from '../../ui/parts.js';
import { ResumeButton } from './resume-button.js';
import { listOf, type WriteStops } from './stops.js';
import './writes.css';

interface StopBannerProps {
  /** Null: not known yet. */
  readonly stops: WriteStops | null;
  readonly changed: () => void;
}

export function StopBanner({ stops, changed }: StopBannerProps) {
  const all = stops === null ? [] : listOf(stops);
  return (
    <div role="status">
      {all.map(({ team, at, by, reason }) => (
        <div key={team ?? ''} class="stop-banner note bad row">
          <p>
            <strong>Writes of {team === null ? 'all teams' : <Name>{team}</Name>} are stopped</strong> since{' '}
            {moment(at)} by <bdi>{by}</bdi>: <bdi>{reason}</bdi>
          </p>
          <ResumeButton team={team} changed={changed} />
        </div>
      ))}
    </div>
  );
}
