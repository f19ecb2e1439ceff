/** One request of the trace: days are numbers from its first day on. */
export interface TraceRequest {
  /** Seconds since the first midnight. */
  readonly at: number;
  readonly advertiser: number;
  readonly byDate: boolean;
  readonly byCampaign: boolean;
  readonly from: number;
  readonly to: number;
  readonly spelling: number;
  /** Whether it asks what is known of each day. */
  readonly withDays?: boolean;
}

export const ORIGIN_MS: number;
export function createTrace(options?: {
  readonly seed?: number;
  readonly days?: number;
  readonly teams?: number;
  readonly advertisers?: number;
}): TraceRequest[];
export function createSlowTrace(options?: {
  readonly seed?: number;
  readonly days?: number;
  readonly advertisers?: number;
  readonly openings?: number;
}): TraceRequest[];
export function queryOf(request: TraceRequest): string;
