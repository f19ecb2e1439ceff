/** Which process of the gateway asks with which token. */
import { moment } from '../ui/format.js';
import { Tag } from '../ui/parts.js';
import type { Holder } from './token-types.js';

export function Holders({ replicas }: { readonly replicas: readonly Holder[] }) {
  const holding = replicas.filter(({ isActive }) => isActive).length;
  return (
    <details class="holders" open={holding < replicas.length}>
      <summary>
        {holding} of {replicas.length === 1 ? '1 process asks' : `${replicas.length} processes ask`} with the
        active token.
      </summary>
      <ul>
        {replicas.map(({ id, host, pid, isActive, tokenId, since }) => (
          <li key={id}>
            <Tag tone={isActive ? 'good' : 'warn'}>
              {isActive ? 'active token' : tokenId === null ? 'no token' : 'another token'}
            </Tag>{' '}
            <bdi>{host}</bdi>, process {pid}
            {since === null ? null : <span class="quiet small">, since {moment(since)}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}
