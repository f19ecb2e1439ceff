/** Scopes in words. */
import { Tag } from './parts.js';

export const SCOPES = [
  { value: 'report:read', says: 'Reads reports, from the cache if possible.' },
  { value: 'report:pin', says: 'Pins reports, so that their numbers stay available.' },
  { value: 'report:watch', says: 'Has the gateway read reports by itself; each watch costs platform calls.' },
  { value: 'platform:read', says: 'Reads all other platform data, passed through uncached.' },
  { value: 'platform:write', says: 'Changes campaigns, budgets and bids on the platform.' },
  { value: 'cache:refresh', says: 'Bypasses the cache; each such request costs platform calls.' },
  { value: 'mcp', says: 'Lets assistants read reports over MCP, with a key of the team.' },
];

export const ScopeList = ({ scopes }: { readonly scopes: readonly string[] }) => (
  <ul class="plain-list">
    {scopes.map((scope) => (
      <li key={scope}>
        {SCOPES.find(({ value }) => value === scope)?.says ?? 'Unknown in this release.'} <Tag>{scope}</Tag>
      </li>
    ))}
  </ul>
);
