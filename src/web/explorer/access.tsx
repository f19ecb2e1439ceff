/** What the team may do, how much of it is left, and what it used. */
import { count } from '../ui/format.js';
import { useLoad } from '../ui/load.js';
import { Card, Figure, Figures, Tag, Wait } from '../ui/parts.js';
import { View } from '../ui/shell.js';
import { useTeam } from './team.js';

interface Me {
  readonly scopes: readonly string[];
  readonly advertisers: readonly number[] | '*';
}

export function Access() {
  const { api } = useTeam();
  const me = useLoad('me', (signal) => api.get<Me>('/gateway/v1/me', signal));
  return (
    <View title="My access" lead="What this key may do.">
      <Wait of={me}>
        {({ scopes, advertisers }) => (
          <>
            <Figures>
              <Figure label="Advertisers" value={advertisers === '*' ? 'all' : count(advertisers.length)} />
            </Figures>
            <Card title="Scopes">
              <div class="row">
                {scopes.map((scope) => (
                  <Tag key={scope}>{scope}</Tag>
                ))}
              </div>
            </Card>
          </>
        )}
      </Wait>
    </View>
  );
}
