/** Which process of the gateway asks with which token. */
import { moment } from '../ui/format.js';
import { Tag } from '../ui/parts.js';
import type { Holder } from './token-types.js';

interface HoldersProps {
  readonly processes: readonly Holder[];
  /** The id of the active token; null: there is none. */
  readonly activeId: string | null;
}

/** @returns whether all of them ask with the active token */
export function allHold({ processes, activeId }: HoldersProps): boolean {
  return activeId !== null && processes.length > 0 && processes.every(({ tokenId }) => tokenId === activeId);
}

export function Holders({ processes, activeId }: HoldersProps) {
  const holding = processes.filter(({ tokenId }) => tokenId !== null && tokenId === activeId).length;
  return (
    <details class="holders" open={holding < processes.length}>
      <summary>
        {holding} of {processes.length === 1 ? '1 process asks' : `${processes.length} processes ask`} with
        the active token.
      </summary>
      <ul>
        {processes.map(({ id, host, pid, tokenId, tokenSince }) => (
          <li key={id}>
            <Tag tone={tokenId !== null && tokenId === activeId ? 'good' : 'warn'}>
              {tokenId === null ? 'no token' : tokenId === activeId ? 'active token' : 'another token'}
            </Tag>{' '}
            <bdi>{host}</bdi>, process {pid}
            {tokenSince === null ? null : <span class="quiet small">, since {moment(tokenSince)}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}
