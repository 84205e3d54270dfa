/** Where a test finds the migrated template: its name, or why there is none. */
export type TemplateState = { readonly name: string } | { readonly missing: string };

declare module 'vitest' {
  interface ProvidedContext {
    /** Superuser URL of the run's PostgreSQL, database `postgres`. */
    pgUrl: string;
    pgTemplate: TemplateState;
    /** The same server through PgBouncer; empty without the pooler leg. */
    pgPooler: string;
  }
}
