/** What a relay process is told: where things are, as seen through the proxies or not. */
export interface RelayConfig {
  readonly database: string;
  /** Base URL of the provider. */
  readonly provider: string;
  /** `host:port` of the mail server. */
  readonly mail: string;
  readonly leaseMs: number;
  readonly timeoutMs: number;
  /** How many statements it can have under way at once. */
  readonly pool: number;
  /** Connections of this name outlive the relay and serve the next one of the process; without it they end with the relay. They do not listen. */
  readonly connections?: string;
}

/** One act of a caller process. */
export interface Act {
  readonly database: string;
  /** Statements in one transaction, in order; each with one jsonb parameter or none. */
  readonly statements: readonly { readonly sql: string; readonly request?: unknown }[];
}
