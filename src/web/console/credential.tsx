/** The platform's credential: how long it lasts, a rotation step by step, and what was tried. */
import { useCallback } from 'preact/hooks';
import { useLoad } from '../ui/load.js';
import { Wait } from '../ui/parts.js';
import { View } from '../ui/shell.js';
import { useAdmin } from './admin.js';
import type { AuditEntry } from './audit-sentence.js';
import './credential.css';
import { Rotation } from './rotation.js';
import { TokenLine } from './token-line.js';
import type { Holder, Tokens } from './token-types.js';
import { Tries } from './tries.js';

const LIVE_MS = 10_000;

export function Credential() {
  const { api } = useAdmin();
  const tokens = useLoad('tokens', (signal) => api.get<Tokens>('/admin/v1/token', signal), LIVE_MS);
  const tries = useLoad(
    'tries',
    (signal) => api.get<{ entries: AuditEntry[] }>('/admin/v1/audit?action=token&limit=50', signal),
    LIVE_MS,
  );
  const status = useLoad(
    'processes',
    (signal) => api.get<{ processes: Holder[] }>('/admin/v1/status', signal),
    LIVE_MS,
  );
  const [tokensAgain, triesAgain, statusAgain] = [tokens.reload, tries.reload, status.reload];
  const refresh = useCallback(() => {
    tokensAgain();
    triesAgain();
    statusAgain();
  }, [tokensAgain, triesAgain, statusAgain]);
  const entries = tries.value?.entries ?? [];
  const processes = status.value?.processes ?? [];
  return (
    <View
      title="Credential"
      lead="The one token the platform is asked with. Nobody sees its text again; a fingerprint tells tokens apart."
    >
      <Wait of={tokens}>
        {(value) => (
          <>
            <TokenLine tokens={value} nowMs={Date.now()} />
            <Rotation tokens={value} entries={entries} processes={processes} refresh={refresh} />
          </>
        )}
      </Wait>
      <Wait of={tries}>{({ entries: all }) => <Tries entries={all} />}</Wait>
    </View>
  );
}
